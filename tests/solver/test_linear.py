"""Goals collect their terms; the flat model holds the board's rows one after the other."""

from apportion.policies.board import Row, Var
from apportion.solver.linear import Goal, Linear, goal_of, linear_of, satisfies, terms_of
from oracle.build import Members, node, queue, snapshot

from .parts import model_of

A, B, C = Var(0), Var(1), Var(2)


def test_goal_adds_up_terms_of_one_variable_and_drops_what_cancels() -> None:
    goal = goal_of([(2, A), (3, B), (5, A), (-3, B), (1, C)])

    assert terms_of(goal) == [(7, A), (1, C)]


def test_goal_of_nothing_is_worth_nothing() -> None:
    goal = goal_of([])

    assert goal == Goal((), ())
    assert (goal.value([]), goal.most([]), goal.least([])) == (0, 0, 0)


def test_goal_knows_its_value_and_its_range() -> None:
    goal = goal_of([(2, A), (-3, B)])

    assert goal.value([5, 1, 9]) == 7
    assert goal.most([5, 4, 9]) == 10
    assert goal.least([5, 4, 9]) == -12


def test_rows_are_laid_end_to_end() -> None:
    model = Linear([0, 0, 0], [1, 1, 1])

    model.add(Row((A, B), (2, 3), 4, "rule", "about"))
    model.add(Row((C,), (1,), 1, "rule", "about", given=(A, B), equal=True))

    assert model.starts == [0, 2, 3]
    assert (model.vars, model.coefs) == ([A, B, C], [2, 3, 1])
    assert (model.bounds, model.equal) == ([4, 1], [False, True])
    assert model.given == {1: (A, B)}


def test_board_and_flat_model_say_the_same() -> None:
    board = model_of(snapshot(node("n1", 4), queue("q"), Members("g", "q", waiting=3))).board

    model = linear_of(board)

    assert (model.lower, model.upper) == (list(board.lower), list(board.upper_))
    ends = model.starts[1:]
    assert len(ends) == len(board.rows) > 0
    for start, end, row in zip(model.starts, ends, board.rows, strict=False):
        assert model.vars[start:end] == list(row.vars)
        assert model.coefs[start:end] == list(row.coefs)


def test_model_keeps_its_own_bounds() -> None:
    board = model_of(snapshot(node("n1", 4), queue("q"), Members("g", "q", waiting=3))).board
    model = linear_of(board)

    model.upper[0] = 99

    assert board.upper_[0] != 99


def test_values_keep_every_row_or_do_not() -> None:
    board = model_of(snapshot(node("n1", 3), Members("a", "q", 2, waiting=1), queue("q"))).board
    board.rows = [
        Row((A, B), (1, 1), 1, "rule", "about"),
        Row((C,), (1,), 1, "rule", "about", given=(A,), equal=True),
    ]
    board.lower, board.upper_ = [0, 0, 0], [1, 1, 2]

    assert satisfies(board, [0, 1, 2]), "the second row is asked for where the first is 1 alone"
    assert satisfies(board, [1, 0, 1])
    assert not satisfies(board, [1, 1, 1])
    assert not satisfies(board, [1, 0, 0]), "an equation"
    assert not satisfies(board, [0, 0, 3]), "outside its range"
