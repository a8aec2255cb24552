import { useEffect, useMemo, useState } from "preact/hooks";
import { NodeService, nodeAddress } from "../browse/node-service.ts";
import { UNWATCHED, Watch } from "../browse/watch.ts";
import type { Watched } from "../browse/watch.ts";
import type { Pin } from "../check/trust.ts";

/** The watch of this page, and what there is to do with it. */
interface Watching {
  /** Null: the page was opened from a file. */
  readonly address: string | null;
  /** Null: nobody is asked. */
  readonly service: NodeService | null;
  readonly watched: Watched;
  readonly connect: (key: string | null) => void;
  readonly disconnect: () => void;
}

const TITLE = document.title;

/** One watch as long as the page is open, whatever part of it is shown. */
export function useWatch(pin: Pin): Watching {
  const [watched, setWatched] = useState<Watched>(UNWATCHED);
  const [service, setService] = useState<NodeService | null>(null);
  const watch = useMemo(() => new Watch(setWatched), []);
  const address = useMemo(() => nodeAddress(location), []);
  const pinned = pin.state === "given" ? pin.rootThk.join() : "";
  useEffect(() => watch.setPin(pin), [pinned]);
  const isAlarmed = watched.alarms.kept.length > 0;
  useEffect(() => {
    if (isAlarmed) document.title = `ALARM: ${TITLE}`;
  }, [isAlarmed]);
  const isRefused = watched.phase === "refused";
  useEffect(() => {
    if (isRefused) setService(null);
  }, [isRefused]);
  return {
    address,
    service: isRefused ? null : service,
    watched,
    connect: (key) => {
      if (address === null) return;
      const asked = new NodeService(address, key);
      setService(asked);
      watch.connect(asked);
    },
    disconnect: () => {
      setService(null);
      watch.disconnect();
    },
  };
}
