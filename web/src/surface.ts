/** xterm.js with its add-ons, as every terminal of the page has it. */

import { ClipboardAddon } from "@xterm/addon-clipboard";
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { WebglAddon } from "@xterm/addon-webgl";
import { type ITheme, Terminal } from "@xterm/xterm";

export interface Look {
  colours: ITheme;
  fontSize: number;
  screenReader: boolean;
}

export interface Hooks {
  /** A program wants to write to the clipboard. */
  copyWanted(text: string): void;
  /** A link is under the pointer; null when it no longer is. */
  linkHovered(url: string | null): void;
}

const SCROLLBACK = 10_000;

export class Surface {
  readonly term: Terminal;
  readonly fitter = new FitAddon();
  readonly search = new SearchAddon({ highlightLimit: 500 });
  private webgl: WebglAddon | null = null;

  constructor(holder: HTMLElement, columns: number, rows: number, look: Look, hooks: Hooks) {
    const hover = (_event: MouseEvent, url: string) => hooks.linkHovered(url);
    const leave = () => hooks.linkHovered(null);
    const activate = (_event: MouseEvent, url: string) => openLink(url);
    this.term = new Terminal({
      allowProposedApi: true,
      // Its messages repeat what programs print.
      logLevel: "off",
      cols: columns,
      rows,
      scrollback: SCROLLBACK,
      fontSize: look.fontSize,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono").trim() || "monospace",
      theme: look.colours,
      screenReaderMode: look.screenReader,
      macOptionClickForcesSelection: true,
      rightClickSelectsWord: false,
      linkHandler: { activate, hover, leave },
    });
    this.term.loadAddon(this.fitter);
    this.term.loadAddon(this.search);
    this.term.loadAddon(new UnicodeGraphemesAddon());
    this.term.unicode.activeVersion = "15-graphemes";
    this.term.loadAddon(new WebLinksAddon(activate, { hover, leave }));
    this.term.loadAddon(
      new ClipboardAddon(undefined, {
        // A program may ask what the clipboard holds; that is nobody's business but the person's.
        readText: () => "",
        writeText: (_selection, text) => {
          if (text) hooks.copyWanted(text);
        },
      }),
    );
    // Not even an empty answer: a program that did not ask, like a shell that got it from a file, would take it for keys.
    this.term.parser.registerOscHandler(52, (data) => data.split(";")[1] === "?");
    this.term.open(holder);
    this.term.textarea?.setAttribute("aria-label", "Terminal input");
  }

  restyle(look: Look): void {
    this.term.options.theme = look.colours;
    this.term.options.screenReaderMode = look.screenReader;
  }

  /** Draw with the graphics card while on screen; browsers give only a few such surfaces to a page. */
  accelerate(on: boolean): void {
    if (on === (this.webgl !== null)) return;
    if (!on) {
      this.webgl?.dispose();
      return this.ordinary();
    }
    try {
      const addon = new WebglAddon();
      addon.onContextLoss(() => {
        addon.dispose();
        this.ordinary();
      });
      this.term.loadAddon(addon);
      this.webgl = addon;
      // Only here: the ordinary renderer would turn inverse text grey.
      this.term.options.minimumContrastRatio = 4.5;
    } catch {
      this.ordinary(); // no WebGL here
    }
  }

  private ordinary(): void {
    this.webgl = null;
    this.term.options.minimumContrastRatio = 1;
  }
}

/** Paths and other schemes open nothing; a web address opens a tab that knows nothing of this one. */
function openLink(url: string): void {
  if (/^https?:\/\//i.test(url)) window.open(url, "_blank", "noopener,noreferrer");
}
