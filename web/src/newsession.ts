/** The `+` dialog: which program, in which directory, under which name. */

import { openNew } from "./actions";
import type { App } from "./app";
import { knownDirectories } from "./catalog";
import { modal } from "./dialogs";
import { h } from "./dom";
import { LIMITS } from "./messages";
import { selectedSession } from "./state";
import { cliTitle, lastSegments, plain } from "./text";

const PROGRAMS: { profile: string; about: string }[] = [
  { profile: "claude", about: "by Anthropic" },
  { profile: "agent", about: "built in, always there" },
  { profile: "codex", about: "by OpenAI" },
  { profile: "gemini", about: "by Google" },
  { profile: "opencode", about: "open source" },
  { profile: "shell", about: "your login shell" },
];

export async function newSession(app: App, preset: { profile?: string; cwd?: string } = {}): Promise<void> {
  const known = knownDirectories(app.store.state.sessions);
  const chosen = preset.profile ?? (PROGRAMS.some((p) => p.profile === app.prefs.profile) ? app.prefs.profile : "claude");
  const programs = PROGRAMS.map(({ profile, about }) =>
    h(
      "label",
      { class: "program" },
      h("input", { type: "radio", name: "profile", value: profile, checked: profile === chosen }),
      h("span", { class: "program-name" }, profile === "shell" ? "Plain shell" : cliTitle(profile)),
      h("span", { class: "program-about" }, about),
    ),
  );
  const cwd = h("input", {
    id: "new-cwd",
    name: "cwd",
    required: true,
    maxlength: LIMITS["open"]?.["cwd"],
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "/absolute/path",
    value: preset.cwd ?? selectedSession(app.store.state)?.cwd ?? known[0] ?? "",
    "aria-describedby": "new-problem",
  });
  const suggestions = h(
    "div",
    { class: "suggestions", role: "group", "aria-label": "Known directories" },
    ...known.slice(0, 6).map((path) =>
      h("button", { type: "button", class: "chip", title: plain(path), onclick: () => { cwd.value = path; cwd.focus(); } }, plain(lastSegments(path))),
    ),
  );
  const list = h("datalist", { id: "new-directories" }, ...known.map((path) => h("option", { value: path })));
  cwd.setAttribute("list", "new-directories");
  const name = h("input", { id: "new-name", name: "name", maxlength: LIMITS["open"]?.["name"], autocomplete: "off", placeholder: "optional" });
  const problem = h("div", { class: "problem", id: "new-problem", role: "alert", hidden: true });
  const create = h("button", { type: "submit", class: "primary" }, "Open");
  const form = h(
    "form",
    { class: "new-session" },
    h("fieldset", {}, h("legend", {}, "Program"), h("div", { class: "programs" }, ...programs)),
    h("label", { for: "new-cwd" }, "Directory"),
    cwd,
    known.length > 0 ? suggestions : null,
    list,
    h("label", { for: "new-name" }, "Name"),
    name,
    problem,
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), create),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });
  const { dialog } = modal("New session", "wide", form);
  cwd.focus();
  cwd.select();

  async function submit(): Promise<void> {
    const profile = new FormData(form).get("profile") as string;
    create.disabled = true;
    problem.hidden = true;
    const refused = await openNew(app, { profile, cwd: cwd.value.trim(), name: name.value.trim() });
    create.disabled = false;
    if (refused === null) {
      dialog.close();
      app.focusTerminal();
      return;
    }
    problem.replaceChildren(
      h("p", {}, refused.detail ?? refused.reason ?? "The host gave no reason."),
      h("p", { class: "exact" }, refused.reason ?? ""),
    );
    // The program is not there: the built-in agent always is.
    if (refused.reason === "session open failed" && refused.detail?.includes("was not found") && profile !== "agent") {
      problem.append(
        h("button", { type: "button", onclick: () => {
          form.querySelector<HTMLInputElement>('input[value="agent"]')?.click();
          problem.hidden = true;
          create.focus();
        } }, "Use the built-in agent"),
      );
    }
    problem.hidden = false;
  }
}
