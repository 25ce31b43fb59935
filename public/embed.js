// <train-memory config="model=…&batch=4">fallback</train-memory>; README, “Embedding”
const home = new URL("./", import.meta.url);

// Whatever the site calls its switch.
function themeAround(element) {
  const scheme = getComputedStyle(element).colorScheme;
  if (scheme === "dark" || scheme === "light") return scheme;
  for (let e = element; e; e = e.parentElement) {
    const [, r, g, b, alpha] = getComputedStyle(e).backgroundColor.split(/^rgba?\(|[,)]/);
    if (b && alpha !== " 0") return +r + +g + +b < 384 ? "dark" : "light";
  }
  return "auto";
}

class TrainMemory extends HTMLElement {
  static observedAttributes = ["config", "theme", "lang"];
  #frame;
  #slot;
  #sent;
  #watcher = new MutationObserver(() => this.#send());

  connectedCallback() {
    const { config, ...rest } = this.#wanted();
    const url = new URL(home);
    url.search = new URLSearchParams({ embed: 1, ...rest });
    for (const { name, value } of this.attributes) if (/^(hide|controls)$/.test(name)) url.searchParams.set(name, value);
    url.hash = config;

    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.innerHTML = `<style>
:host { display: grid }
slot, iframe { grid-area: 1/1 }
slot:not([hidden]) { display: block }
iframe { width: 100%; border: 0 }
slot:not([hidden]) + iframe { visibility: hidden }
</style><slot></slot><iframe loading="lazy" allow="clipboard-write"></iframe>`;
    [, this.#slot, this.#frame] = root.children;
    this.#frame.title = this.title || this.textContent.trim();
    this.#frame.height = this.getAttribute("height") ?? 420;
    this.#frame.src = url;
    addEventListener("message", this);
    for (const e of [document.documentElement, document.body]) this.#watcher.observe(e, { attributes: true });
  }

  disconnectedCallback() {
    removeEventListener("message", this);
    this.#watcher.disconnect();
  }

  attributeChangedCallback() {
    this.#send();
  }

  #wanted() {
    return {
      config: (this.getAttribute("config") ?? "").replace(/^[#?]/, ""),
      theme: this.getAttribute("theme") ?? themeAround(this),
      lang: /^zh/.test(this.closest("[lang]")?.lang || navigator.language) ? "zh" : "en",
    };
  }

  #send() {
    if (!this.#slot?.hidden) return;
    const message = { trainmem: 1, type: "set", ...this.#wanted() };
    const text = JSON.stringify(message);
    if (text !== this.#sent) this.#frame.contentWindow?.postMessage(message, home.origin);
    this.#sent = text;
  }

  handleEvent({ source, origin, data }) {
    if (source !== this.#frame.contentWindow || origin !== home.origin || data?.trainmem !== 1) return;
    const { type, height } = data;
    if (type === "ready") {
      this.#slot.hidden = true;
      this.#send();
    } else if (type === "resize" && height > 0) {
      this.#frame.height = Math.min(Math.ceil(height), 5000);
    } else if (type === "change" || type === "error") {
      this.dispatchEvent(new CustomEvent(type, { detail: data }));
    }
  }
}

customElements.define("train-memory", TrainMemory);
