"""Maximum assignment, repaired instead of solved again when gains change."""

from __future__ import annotations

Matrix = list[list[int]]


class Assignment:
    """Every row gets its own column; prices prove the sum (row + column >= gain everywhere).

    Hungarian method with as many rows as columns. `total` is the sum of the open prices: never
    below the largest sum of gains, and equal to it once no row is unassigned. A search changes a
    few rows at a time, so a repair needs a few augmenting paths, not all of them. scipy's solver
    cannot be repaired, and importing it takes longer than most files of plans.
    """

    __slots__ = (
        "column_of",
        "column_price",
        "columns",
        "gains",
        "loose",
        "row_of",
        "row_price",
        "total",
    )

    def __init__(self, gains: Matrix) -> None:
        size = len(gains)
        self.gains = gains
        self.columns = list(range(size))
        self.row_price = [max(row) for row in gains]
        self.column_price = [0] * size
        self.row_of = [-1] * size
        self.column_of = [-1] * size
        self.loose = list(range(size))
        self.total = sum(self.row_price)

    def copy(self) -> Assignment:
        """An independent assignment; the rows of gains are shared, and replaced, never edited."""
        twin = Assignment.__new__(Assignment)
        twin.gains = self.gains[:]
        twin.columns = self.columns[:]
        twin.row_price = self.row_price[:]
        twin.column_price = self.column_price[:]
        twin.row_of = self.row_of[:]
        twin.column_of = self.column_of[:]
        twin.loose = self.loose[:]
        twin.total = self.total
        return twin

    def close(self, row: int, column: int) -> None:
        """Remove row and column; only if no row is unassigned."""
        self.columns.remove(column)
        self.total -= self.row_price[row] + self.column_price[column]
        evicted = self.row_of[column]
        if evicted != row:
            self.row_of[self.column_of[row]] = -1
            self.column_of[evicted] = -1
            self.loose.append(evicted)
        self.column_of[row] = column

    def change(self, row: int, gains: list[int]) -> None:
        """Replace the gains of one row; it becomes unassigned if its column is no longer
        its best.
        """
        price = self.column_price
        best = max([gains[column] - price[column] for column in self.columns])
        self.total += best - self.row_price[row]
        self.gains[row] = gains
        self.row_price[row] = best
        column = self.column_of[row]
        if column >= 0 and gains[column] - price[column] < best:
            self.row_of[column] = self.column_of[row] = -1
            self.loose.append(row)

    def settle(self, floor: int) -> bool:
        """Give each unassigned row a column; False as soon as the total is proven to fall below."""
        while self.loose:
            if self.total < floor or not self._augment(self.loose.pop(), self.total - floor):
                return False
        return self.total >= floor

    def _augment(self, start: int, allowance: int) -> bool:
        """Follow a path of least slack to a free column, as long as the slack is allowed."""
        gains, price, row_of = self.gains[start], self.column_price, self.row_of
        own = self.row_price[start]
        # Free columns first: of equally near columns the first is taken, which ends the path.
        order = [c for c in self.columns if row_of[c] < 0]
        order += [c for c in self.columns if row_of[c] >= 0]
        slack = {column: own + price[column] - gains[column] for column in order}
        via = dict.fromkeys(order, start)
        path: list[tuple[int, int, int]] = []
        while True:
            nearest = min(slack, key=slack.__getitem__)
            least = slack.pop(nearest)
            if least > allowance:
                return False
            row = row_of[nearest]
            if row < 0:
                break
            path.append((nearest, row, least))
            gains, own = self.gains[row], least + self.row_price[row]
            for column, known in slack.items():
                here = own + price[column] - gains[column]
                if here < known:
                    slack[column] = here
                    via[column] = row
        self._reprice(start, path, least)
        self._shift(nearest, via, start)
        return True

    def _reprice(self, start: int, path: list[tuple[int, int, int]], least: int) -> None:
        self.total -= least
        self.row_price[start] -= least
        for column, row, slack in path:
            self.row_price[row] -= least - slack
            self.column_price[column] += least - slack

    def _shift(self, column: int, via: dict[int, int], start: int) -> None:
        while True:
            row = via[column]
            previous = self.column_of[row]
            self.row_of[column], self.column_of[row] = row, column
            if row == start:
                return
            column = previous
