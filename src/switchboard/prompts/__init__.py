"""Prompts of one agent session, as pure machines: the queue, who may continue a turn, what is slipped into one.

The seam. A session is one `ledger.Ledger`, and it is the only thing a driver holds. The driver turns what happened on
the wire, in a page or on the clock into an event, calls `receive(event, now)`, and performs the commands it gets back,
in their order. `receive` never waits, so the answer to an agent's request is decided before the next frame is read,
and answers leave in wire order. An event that cannot be raises `IllegalEvent` and changes nothing.

Who owns what:

- `fifo_state.FifoState` has the line of waiting prompts, and the *floor*: the one turn that runs, be it a prompt of the
  line or a background turn that the agent announced and we accepted. Both lanes of the line, the queue and the messages
  for the running turn, are one tuple, so a prompt that changes lanes, text or place is never out of it for a moment.
- `fifo` alone moves prompts and the floor. `mid_turn` decides what a drain gets, and what happens to what it did not.
- `claims.Claims` has the one wait: which owner was told that prompts are queued. It reads the FIFO and never writes it,
  and the FIFO does not know it. What the FIFO announces is all that moves the wait.
- `ledger` joins the three, checks whose session a request names, and takes over all new values at once.
- `snapshots` carries a session over a restart of the host. `reasons` has every text.

What a driver owes the ledger:

- Prompt ids are its own, and never used again. `SendPrompt` names the id that the agent is told as its owner.
- It stores `snapshot()` before it performs commands. A crash in between then leaves a prompt that counts as interrupted
  although it was never sent, and never one that is sent twice.
- It feeds `TimePassed` when `deadline` comes, and `CancelForwarded` once a cancel has been answered, has been given up,
  or its fallback was written: until then no further prompt starts.
- After `AgentEnded` it reports no cancel of that process any more. Answers that were still in the pipe are harmless.
- A client without a queue of its own answers claims with `claims.answer_without_queue` and has no ledger.

The bridge does this for a child process. The built-in agent does it in its terminal for itself, where `SendPrompt`
starts a turn and `ForwardCancel` ends one.
"""
