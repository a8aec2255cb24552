import { stripVTControlCharacters } from "node:util";

/** What a long run came to, suite by suite: after an hour nobody scrolls back. */
export default class Summary {
  /** @param {string} root */
  #root;

  constructor({ rootDir }) {
    this.#root = rootDir;
  }

  onRunComplete(_contexts, { testResults, startTime }) {
    const rows = testResults
      .map((suite) => ({
        name: suite.testFilePath.slice(this.#root.length + 1),
        seconds: (suite.perfStats.end - suite.perfStats.start) / 1000,
        passed: suite.numPassingTests,
        failed: suite.numFailingTests + (suite.testExecError ? 1 : 0),
        left: suite.numPendingTests + suite.numTodoTests,
      }))
      .sort((a, b) => b.seconds - a.seconds);
    const line = (cells) => cells.map((cell) => String(cell).padStart(8)).join("");
    const minutes = ((Date.now() - startTime) / 60_000).toFixed(1);
    const lines = rows.map(({ name, seconds, passed, failed, left }) => {
      return `${line([seconds.toFixed(0), passed, failed, left])}  ${name}`;
    });
    process.stderr.write(`\n${line(["seconds", "passed", "failed", "left"])}\n${lines.join("\n")}\n`);
    process.stderr.write(`${rows.length} suites in ${minutes} minutes\n`);
    for (const { failureMessage } of testResults) {
      for (const title of titlesOf(failureMessage)) process.stderr.write(`FAILED ${title}\n`);
    }
  }
}

/** The first line of each failure, as Jest writes it. */
function titlesOf(message) {
  return (message ?? "").split("\n").flatMap((text) => {
    const plain = stripVTControlCharacters(text);
    return /^\s+● /.test(plain) ? [plain.trim().slice(2)] : [];
  });
}
