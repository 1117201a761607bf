/** What a versioned request's reason means, and what to do about it (pure). Beneath it stand the exact words. */

const EXACT: Record<string, string> = {
  // The request itself.
  "trigger must be an object": "The request is not a JSON object.",
  "unsupported version": "The request is of a version that this host does not know. Use version 1.",
  "unsupported action": "The request asks for something that there is not. There are “open” and “stop”.",
  "trigger filename must be a lowercase UUID": "The name of the request's file has to be a UUID in lower case, which is its own and is used once.",
  "open requires exactly one of sessionId or new": "The request has to name either a session to open or a new one, not both.",
  "missing required field: sessionId": "The request does not name the session to stop.",
  "sessionId must be a UUID": "The request names no session id. A name is not enough: look the id up with “switchboard ls”.",
  "new must be an object": "What the request says of the new session is not an object with a project and a name.",
  "new.project must be an absolute path": "The new session's project has to be the absolute path of a directory.",
  "new.name must be a non-empty string": "The new session needs a name.",
  "new.name too long (max 256 characters)": "The new session's name is too long.",
  "new.name contains control characters": "The new session's name has characters that cannot be shown.",
  "invalid timeout_ms": "The time that the request allows has to be a whole number from 1 to 600,000 milliseconds.",
  "expectedCwd must be a non-empty string when present": "The directory that the request expects is empty or no text.",
  // The whole action.
  "session action timed out": "Its time was over before everything was done. What was opened stays open.",
  "Switchboard is closing.": "The host was being stopped.",
  "action state could not be saved": "The host could not write down what it was about to do, so it did not do it. Look at the disk and at the triggers folder.",
  "interrupted by restart": "The host ended in the middle, and does not do it again by itself.",
  "internal error": "The host met a fault of its own. Its log says more.",
  // Which session, which project.
  "session not found": "Nothing has this id here: no open session and no closed one.",
  "session not open here": "The session is closed, so there is nothing to stop.",
  "remote sessions are not supported": "The session is on another machine. Triggers open and stop sessions of this one only.",
  "session live elsewhere": "Another program has this session open. A second one could mix the conversation up, so it was not opened.",
  "background session is not supported": "The session runs in the background, or is being put there. Bring it back to a terminal first.",
  "scheduled session is not supported": "A schedule is running this session. Triggers leave it alone until the run has ended.",
  "plain terminal sessions are not supported": "This is a plain terminal and no agent's session.",
  "session liveness unavailable": "It cannot be told whether another program has the session open, so it was not opened.",
  "no readable transcript": "The conversation is not on disk, or cannot be read, so it cannot be resumed.",
  "ambiguous session transcript": "More than one conversation on disk has this id. Which one was meant cannot be told.",
  "session cwd unavailable": "The conversation does not say in which directory it ran.",
  "unknown project": "The directory belongs to no known project. Open a session there once, or use “switchboard project add”.",
  "project is archived": "The project was put away or removed from the list, so nothing is opened in it by a trigger.",
  "project directory does not exist": "The directory is not there any more.",
  "project lookup unavailable": "Which projects there are could not be read, so nothing was opened.",
  "this session's cwd could not be determined; refusing rather than risk targeting the wrong session":
    "In which directory the session runs is not known, but the request expects one.",
  "expectedCwd does not match this session's actual cwd": "The session runs in another directory than the request expects.",
  "target process not running": "Its program has ended. If its terminal is still there, stop that; then open the session again.",
  "session exited during wait": "Its program ended before the text was in. What it printed last may say why.",
  "session target changed": "Another terminal took the session's place meanwhile. It was left alone.",
  "session writer changed": "Another program took the session over meanwhile. It was left alone.",
  // Opening.
  "new session rate limit exceeded": "Too many new sessions at once: three, then one every 20 seconds. Nothing was started.",
  "window not available": "No page was open that could show the session. Open one, then send a new request.",
  "renderer not ready": "The page did not finish loading in time.",
  "renderer unavailable": "The page was closed or reloaded in the middle.",
  "renderer action timed out": "The page did not answer in time.",
  "session open failed": "The session could not be started.",
  "session name could not be saved": "The session was started, but its name could not be written down. Its prompt was not typed.",
  "session readiness unavailable": "The session is open, but its program never showed that it was ready. It may stand at a trust, login or theme dialog: look at it.",
  // Stopping.
  "session busy": "It is working. A request with a final note waits for that; this one does not.",
  "session waiting on a dialog": "It asks something. Answer that first.",
  "session running a shell command": "It runs a shell command, which a stop would cut off.",
  "session state unavailable": "What it is doing is not known, so it was left running.",
  "session has unsubmitted input": "Somebody's draft is in it, and would be lost. Submit or clear it first.",
  "session composer unavailable": "Whether somebody's draft is in it is not known, so it was left running.",
  "session input not quiet": "Somebody was typing until the time was over. It was left running.",
  "note step not finished": "The final note was not finished in time. The session was left running.",
  "session stop failed": "The session could not be asked to end.",
  "session stop not confirmed": "It was asked to end and had not done so when the time was over. It may end later.",
};

const WITH_VALUES: [RegExp, string][] = [
  [/^unsupported field: /, "The request has a field that this kind of request does not have. Nothing of it was done."],
  [/^(prompt|before|<field>) must be a non-empty string$/, "The text to type is missing or blank."],
  [/^(prompt|before|<field>) too long/, "The text to type is longer than 4,096 characters."],
  [/^(prompt|before|<field>) contains forbidden control characters/, "The text to type has a line break or another character that would act as a key."],
];

/** The meaning of a versioned request's reason; undefined for one that delivery gave, or that nobody has explained. */
export function meaningOf(reason: string): string | undefined {
  return (Object.hasOwn(EXACT, reason) ? EXACT[reason] : undefined) ?? WITH_VALUES.find(([pattern]) => pattern.test(reason))?.[1];
}
