"""The solver process: takes a model and goals on stdin, gives answers on stdout, may be killed.

The only place that makes a CpSolver. It is started early, limits its own memory, and never sees a
cluster: only numbers. Messages are pickles, each after its length in eight bytes.
"""

import pickle
import resource
import sys
from typing import IO, Any

HEAD = 8
"""Bytes of a message's length."""


def send(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    view = memoryview(len(data).to_bytes(HEAD, "big") + data)
    while view:
        view = view[stream.write(view) :]
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message; None at the end of the stream."""
    head = stream.read(HEAD)
    if len(head) < HEAD:
        return None
    size = int.from_bytes(head, "big")
    data = stream.read(size)
    return pickle.loads(data) if len(data) == size else None


def _build(model: Any) -> Any:
    """Write the model's rows straight into the proto: much faster than expressions."""
    from ortools.sat.python import cp_model

    out = cp_model.CpModel()
    proto = out.proto
    for low, high in zip(model.lower, model.upper, strict=True):
        proto.variables.add().domain.extend([low, high])
    lowest = -(1 << 62)
    for i, bound in enumerate(model.bounds):
        row = proto.constraints.add()
        a, b = model.starts[i], model.starts[i + 1]
        row.linear.vars.extend(model.vars[a:b])
        row.linear.coeffs.extend(model.coefs[a:b])
        row.linear.domain.extend([bound if model.equal[i] else lowest, bound])
        given = model.given.get(i)
        if given:
            row.enforcement_literal.extend(list(given))
    return out


def _solve(model: Any, request: dict[str, Any], out: IO[bytes]) -> dict[str, Any]:
    from ortools.sat.python import cp_model

    run = model.clone()
    goal_vars, goal_coefs = request["goal"]
    variables = [run.get_int_var_from_proto_index(v) for v in goal_vars]
    for vars_, coefs, bound in request["floors"]:
        row = run.proto.constraints.add()
        row.linear.vars.extend(list(vars_))
        row.linear.coeffs.extend(list(coefs))
        row.linear.domain.extend([bound, 1 << 62])
    for v, x in request["fixed"]:
        domain = run.proto.variables[v].domain
        domain.clear()
        domain.extend([x, x])
    run.maximize(cp_model.LinearExpr.weighted_sum(variables, list(goal_coefs)))
    hint = request.get("hint")
    if hint is not None:
        known = [(v, x) for v, x in enumerate(hint) if x is not None]
        run.proto.solution_hint.vars.extend([v for v, _ in known])
        run.proto.solution_hint.values.extend([x for _, x in known])
    problem = run.validate()
    if problem:
        return {"status": "INVALID", "detail": problem}
    solver = cp_model.CpSolver()
    p = solver.parameters
    for name, value in request["parameters"].items():
        if isinstance(value, list):
            getattr(p, name).extend(value)
        else:
            setattr(p, name, value)
    count = len(model.proto.variables)

    class Stream(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            values = list(self.response_proto.solution)[:count]
            send(out, {"status": "STEP", "values": values})

    status = solver.solve(run, Stream() if request.get("stream") else None)
    name = solver.status_name(status)
    answer: dict[str, Any] = {
        "status": name, "seconds": solver.wall_time,
        "effort": float(solver.response_proto.deterministic_time),
    }  # fmt: skip
    if name in ("OPTIMAL", "FEASIBLE"):
        answer["values"] = list(solver.response_proto.solution)[:count]
    # Stopped before it searched, the solver says 0 where it knows no bound.
    if name in ("OPTIMAL", "FEASIBLE") and goal_vars:
        bound = int(solver.response_proto.inner_objective_lower_bound)
        found = sum(c * answer["values"][v] for c, v in zip(goal_coefs, goal_vars, strict=True))
        if bound <= -found:
            answer["bound"] = bound
        answer["bound_real"] = float(solver.best_objective_bound)
    return answer


def _relax(model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Solve the model with whole numbers let go: values, and what a unit more of each row is worth.

    Rows that hold only under conditions are left out, which relaxes the model further.
    """
    from ortools.linear_solver.python import model_builder_helper as engine

    lp = engine.ModelBuilderHelper()
    infinity = float("inf")
    for low, high in zip(model.lower, model.upper, strict=True):
        v = lp.add_var()
        lp.set_var_lower_bound(v, float(low))
        lp.set_var_upper_bound(v, float(high))
    rows = 0
    for i, bound in enumerate(model.bounds):
        if i in model.given:
            continue
        c = lp.add_linear_constraint()
        lp.set_constraint_lower_bound(c, float(bound) if model.equal[i] else -infinity)
        lp.set_constraint_upper_bound(c, float(bound))
        for t in range(model.starts[i], model.starts[i + 1]):
            lp.safe_add_term_to_constraint(c, model.vars[t], float(model.coefs[t]))
        rows += 1
    lp.set_maximize(True)
    for v, coef in zip(*request["goal"], strict=True):
        lp.set_var_objective_coefficient(v, float(coef))
    solver = engine.ModelSolverHelper("glop")
    solver.set_time_limit_in_seconds(request["limit_s"])
    solver.solve(lp)
    if solver.status() != engine.SolveStatus.OPTIMAL:
        return {"status": str(solver.status())}
    return {
        "status": "OPTIMAL",
        "value": float(solver.objective_value()),
        "values": [float(x) for x in solver.variable_values()],
        "prices": [float(x) for x in solver.dual_values()],
        "reduced": [float(x) for x in solver.reduced_costs()],
    }


def _warm_up() -> None:
    """Solve something tiny, so that whatever the solver loads at its first use is there by then."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    model.maximize(model.new_int_var(0, 1, "x"))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.solve(model)


def main() -> None:
    """Serve until the stream ends."""
    source, out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    limit = int(sys.argv[1]) * 1024 * 1024 if len(sys.argv) > 1 else 0
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    _warm_up()
    send(out, {"status": "READY"})
    model: Any = None
    while (request := receive(source)) is not None:
        if request["op"] == "model":
            model = _build(request["model"])
        elif request["op"] == "solve":
            send(out, _solve(model, request, out))
        elif request["op"] == "relax":
            send(out, _relax(request["model"], request))


if __name__ == "__main__":
    main()
