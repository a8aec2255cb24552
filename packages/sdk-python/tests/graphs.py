"""A graph of LangGraph: its first node asks for a tool as a model would, its second one calls it."""

from __future__ import annotations

from typing import Any, Dict, Sequence


def refunding_graph(orders: Sequence[str]) -> Any:
    """Asks for one refund for each order. There is no order 0."""
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    @tool
    def refund(order: str) -> str:
        """Refunds an order."""
        if order == "0":
            raise ValueError("no such order")
        return f"refunded {order}"

    def agent(state: MessagesState) -> Dict[str, Any]:
        calls = [{"name": "refund", "args": {"order": order}, "id": f"call-{order}"} for order in orders]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([refund], handle_tool_errors=True))
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "tools")
    graph.add_edge("tools", END)
    return graph.compile()
