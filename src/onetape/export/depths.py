"""How deep an item stands: what a subagent says and does is under the call that started it."""

from onetape.recent import Recent
from onetape.schema import Item

# As many as may be parents of what still comes; the bound keeps memory constant.
REMEMBERED = 20_000


class Depths:
    def __init__(self) -> None:
        self._known: Recent[str, int] = Recent(REMEMBERED)

    def of(self, item: Item) -> int:
        if item.item_id not in self._known:
            self._known[item.item_id] = self._new(item)
        return self._known[item.item_id]

    def _new(self, item: Item) -> int:
        if item.parent_id is None:
            return 0
        # A call and its result hang on their own message, at the same depth; all else is nested in its parent.
        is_nested = item.kind not in ("tool_call", "tool_result")
        return self._known.get(item.parent_id, 0) + is_nested
