/** Shapes that carry a status without its colour, and those of the buttons. */

import { drawing } from "./dom";

const STATUS: Record<string, string[]> = {
  idle: ["M8 2.75a5.25 5.25 0 1 0 0 10.5a5.25 5.25 0 1 0 0-10.5z"],
  busy: ["M8 2.75a5.25 5.25 0 1 1-5.25 5.25", "M8 2.75a5.25 5.25 0 0 1 0 10.5z"],
  starting: ["M8 2.75a5.25 5.25 0 1 1-5.25 5.25", "M8 2.75a5.25 5.25 0 0 1 0 10.5z"],
  waiting: ["M8 1.5L14.5 8L8 14.5L1.5 8z"],
  shell: ["M3.25 3.25h9.5v9.5h-9.5z"],
  running: ["M5 3.5l7 4.5l-7 4.5z"],
  exited: ["M3 8h10"],
  closed: ["M3 8h10"],
  failed: ["M8 2.25l6 11h-12z"],
  unknown: ["M5.75 6a2.25 2.25 0 1 1 3.2 2c-.7.35-.95.8-.95 1.6", "M8 12.4v.2"],
};

export function statusIcon(status: string): SVGSVGElement {
  const known = status in STATUS ? status : "unknown";
  const icon = drawing(known, ...(STATUS[known] ?? []));
  icon.classList.add("status-icon");
  return icon;
}

const BUTTONS: Record<string, string[]> = {
  plus: ["M8 3v10M3 8h10"],
  menu: ["M2.5 4h11M2.5 8h11M2.5 12h11"],
  close: ["M3.5 3.5l9 9M12.5 3.5l-9 9"],
  stop: ["M4 4h8v8h-8z"],
  grid: ["M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5h-4.5zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5h-4.5z"],
  more: ["M3.5 8h.01M8 8h.01M12.5 8h.01"],
  activity: ["M1.5 8.5h3l2-5l3 9l2-4h3"],
  search: ["M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9zM10.3 10.3l3.4 3.4"],
  up: ["M3.5 10l4.5-4.5l4.5 4.5"],
  down: ["M3.5 6l4.5 4.5l4.5-4.5"],
  chevron: ["M6 4l4 4l-4 4"],
  copy: ["M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z"],
  rename: ["M2.5 13.5l.8-3.2l7.4-7.4l2.4 2.4l-7.4 7.4z"],
  keyboard: ["M1.5 4h13v8.5h-13zM4 7h.01M6.7 7h.01M9.3 7h.01M12 7h.01M5 10h6"],
  resume: ["M5 3.5l7 4.5l-7 4.5z"],
};

export function buttonIcon(name: keyof typeof BUTTONS): SVGSVGElement {
  return drawing(String(name), ...(BUTTONS[name] ?? []));
}
