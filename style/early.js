// Runs before the first paint: language, theme and embedding from the link, else what was chosen before, else the
// browser's; and says in words when the page can't start. The application takes over from here.
(() => {
  const root = document.documentElement;
  const link = new URLSearchParams(location.search.slice(1) + "&" + location.hash.slice(1));
  const stored = (key) => {
    try {
      return localStorage.getItem("trainmem." + key);
    } catch {
      return null; // a third-party frame
    }
  };
  const last = (key) => link.getAll(key).pop();
  const lang = last("lang") || stored("lang") || navigator.language || "en";
  root.lang = lang.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
  root.dataset.lang = root.lang;
  root.dataset.theme = last("theme") || stored("theme") || "auto";
  if (last("embed") === "1") root.dataset.embed = "1";
  const failed = () => {
    if (!root.dataset.ready) root.dataset.failed = "1";
  };
  addEventListener("error", failed, true);
  addEventListener("unhandledrejection", failed);
  // What a first visit doesn't need follows when the page stands; without it in time, it is fetched when needed.
  addEventListener("TrunkApplicationStarted", () =>
    (self.requestIdleCallback ?? setTimeout)(() => wasmBindings.rest?.().catch(() => {}))
  );
  if (typeof WebAssembly !== "object") failed();
})();
