/** Whether this is a Mac, where the page's own keys are Cmd and Ctrl stays with the terminal. */
export const MAC = /Mac|iPhone|iPad/.test(navigator.platform);

export const MOD = MAC ? "⌘" : "Ctrl";
