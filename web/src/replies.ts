/**
 * What a terminal answers to queries (pure). Only the page that owns a session's size may answer, and never for output
 * that is shown a second time; the host drops the others' answers too.
 */

/* eslint-disable no-control-regex */
const REPLY = new RegExp(
  [
    "\\x1b\\[\\?[0-9;]*\\$y", // mode reports
    "\\x1b\\[[?>=]?[0-9;:]+[cnRu]", // device attributes, status, cursor position, keyboard flags
    "\\x1b\\[[0-9;]+t", // window reports
    "\\x1b\\[[IO]", // focus reports
    "\\x1bP[^\\x1b\\x07]*\\x1b\\\\", // settings, capabilities, version
    "\\x1b\\][0-9]+;[^\\x1b\\x07]*(?:\\x07|\\x1b\\\\)", // colours, clipboard
    "\\x1b_[^\\x1b\\x07]*\\x1b\\\\", // graphics
  ].join("|"),
  "g",
);

/**
 * `data` without a terminal's answers. A modified F3 (`CSI 1;2 R`) looks like a cursor position: what is known to come
 * from a key must not be given to this.
 */
export function withoutReplies(data: string): string {
  return data.includes("\x1b") ? data.replace(REPLY, "") : data;
}
