"""One layout from start to end: asked for protection, then judged by the model of the kernel's rules."""

from __future__ import annotations

from switchboard.sandbox.control import protect_control
from switchboard.sandbox.mounts import Mount, Refusal
from switchboard.sandbox.path_walk import quoted
from tests.support.host_tree import Nowhere
from tests.support.sandbox_layouts import Layout
from tests.support.sandbox_model import LaunchFails, control_of, harm, lands_in, launch


def judge(made: Layout) -> str:
    """What became of a layout; fails when it was admitted unsafe, made to fail, or refused without need."""
    host = made.tree()
    refusal: Refusal | None = None
    extra: list[Mount] = []
    try:
        extra = protect_control(made.mounts, made.control, host)
    except Refusal as problem:
        refusal = problem
    try:
        control = control_of(host, made.control.triggers, made.control.hidden, made.control.own)
    except Nowhere:
        assert refusal is not None, "a control path leads nowhere"
        return "refused: leads nowhere"
    try:
        plain = launch(host, made.mounts)
    except LaunchFails:
        return "no sandbox anyway"
    if refusal is not None:
        names = (made.control.triggers, *made.control.hidden, made.control.own or made.control.triggers)
        assert any(quoted(name)[1:-1] in str(refusal) for name in names), refusal
        simple = control.clean and control.own_apart and not lands_in(host, made.mounts, control)
        assert not simple, f"refused without need: {refusal}"
        return "refused"
    guarded = launch(host, [*made.mounts, *extra])
    assert harm(guarded, control) == []
    lost = {place.node for place in plain.reached if plain.writable(place.node) and not guarded.writable(place.node)}
    more = {node for node in lost - control.kept - control.unseen if not any(map(node.within, control.roots))}
    assert not more, "more was taken away than asked"
    if not made.remounts and control.roots and control.roots[0] in control.kept:
        seen, still = ({place.node for place in sandbox.reached} for sandbox in (plain, guarded))
        assert control.roots[0] in still or control.roots[0] not in seen, "the triggers may be read"
    return "protected" if harm(plain, control) else "safe anyway"
