import json, time, signal, uuid, os
import pytest
from pathlib import Path
from tests.real_cli.terminal import PtyProgram, DeadlineError
from tests.real_cli.test_lifecycle import elsewhere
from tests.support.messages_api import Gate, Reply
@pytest.fixture(autouse=True)
def page():
    yield
def rd(path):
    try: return Path(path).read_text()
    except OSError as e: return str(e)
def log(*a):
    with open("/tmp/t3/hup.txt","a") as f: print(*a, file=f)
KINDS=os.environ["KINDS"].split(",")
@pytest.mark.parametrize("n", range(int(os.environ["N"])))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.timeout(200, func_only=True)
def test_hup(claude, home, api, version, start_cli, n, kind):
    if os.environ.get("V","2.1.332") != version: return
    number = signal.SIGTERM if "term" in kind else signal.SIGHUP
    if "gate" in kind:
        api.answer("after the kill", Reply("x", gate=Gate()))
    if "kill" in kind or "term0" in kind:
        program, sid = elsewhere(start_cli, home, "before the kill")
        program.signal(signal.SIGKILL if "kill" in kind else signal.SIGTERM); program.wait_exit()
        p = start_cli("--resume", sid, "--permission-mode", "auto")
    else:
        sid=str(uuid.uuid4()); p=start_cli("--session-id", sid)
    p.until("idle", lambda: (home.descriptor(p.pid) or {}).get("status") == "idle")
    p.pause(0.3)
    p.submit("after the kill")
    p.until("prompts", lambda: "after the kill" in home.typed_prompts(sid))
    if "late" in kind: p.pause(1.0)
    t=time.monotonic()
    p.signal(number)
    k=0
    while time.monotonic()-t < float(os.environ.get("MAX","14")):
        try:
            s=p.wait_exit(2); log(version, kind, n, "exit", s, round(time.monotonic()-t,2), "desc", home.descriptor_files()); return
        except DeadlineError:
            log(version, kind, n, "still", k, home.descriptor(p.pid) and home.descriptor(p.pid).get("status"), home.closed_turns(sid), [l for l in rd(f"/proc/{p.pid}/status").splitlines() if l.startswith(("Sig","Shd","State","Threads"))], rd(f"/proc/{p.pid}/wchan"))
            k+=1
            if os.environ.get("AGAIN"): p.signal(getattr(signal, os.environ["AGAIN"]))
    log(p.screen)
