// Which colours does each visible text have, and what is painted beneath it?
// Evaluated in a world of its own: the page's scripts cannot change what these names mean.
// Returns JSON: layers [[parent, background, opacity]], texts [[name, colour, layer, large]], unknown {reason: count}.
(() => {
  const LIMIT = 20000;
  const layers = [], known = new Map(), texts = [], unknown = {};
  let disabled = 0;
  const count = (reason) => { unknown[reason] = (unknown[reason] || 0) + 1; };
  const up = (element) => {
    if (element.assignedSlot) return element.assignedSlot;
    if (element.parentElement) return element.parentElement;
    const root = element.getRootNode();
    return root instanceof ShadowRoot ? root.host : null;
  };
  const alpha = (colour) => {
    const found = /^rgba?\([\d.]+, [\d.]+, [\d.]+(?:, ([\d.]+))?\)$/.exec(colour);
    return found ? (found[1] === undefined ? 1 : Number(found[1])) : 0.5;
  };
  const interned = new Map();
  const layer = (parent, background, opacity) => {
    const key = parent + "|" + background + "|" + opacity;
    if (!interned.has(key)) { interned.set(key, layers.length); layers.push([parent, background, opacity]); }
    return interned.get(key);
  };
  // For an element: its layer, why it cannot be computed, and the nearest element that paints a background.
  const about = (element) => {
    const pending = [];
    for (let at = element; at && !known.has(at); at = up(at)) pending.push(at);
    while (pending.length) {
      const at = pending.pop(), above = up(at), style = getComputedStyle(at);
      const from = above ? known.get(above) : { layer: -1, image: false, effect: false, faded: false, painter: null };
      const paint = alpha(style.backgroundColor), opacity = Number(style.opacity);
      const image = style.backgroundImage !== "none";
      const plain = paint === 1 && !image && opacity === 1 && !from.faded;
      const effect = from.effect || style.filter !== "none" || style.mixBlendMode !== "normal" ||
        (style.backdropFilter && style.backdropFilter !== "none") || style.backgroundClip === "text" ||
        (style.maskImage && style.maskImage !== "none");
      known.set(at, {
        layer: paint > 0 || opacity < 1 ? layer(from.layer, style.backgroundColor, style.opacity) : from.layer,
        image: plain ? false : from.image || image,
        effect,
        faded: from.faded || opacity < 1,
        painter: paint > 0 || image ? { element: at, opaque: paint === 1, next: from.painter } : from.painter,
      });
    }
    return known.get(element);
  };
  const within = (ancestor, element) => {
    for (let at = element; at; at = up(at)) if (at === ancestor) return true;
    return false;
  };
  const canvas = (element) => element === document.documentElement || element === document.body;
  const replaced = new Set(["IMG", "VIDEO", "CANVAS", "IFRAME", "OBJECT", "EMBED", "PICTURE", "svg"]);
  const place = (rects) => {
    const rect = [...rects].find((one) => one.width > 1 && one.height > 1);
    return rect && { x: rect.left + rect.width / 2, y: rect.top + rect.height / 2 };
  };
  const beneath = (element, info, rects) => {
    let point = place(rects());
    if (!point) return "no area";
    if (point.y < 0 || point.y >= innerHeight || point.x < 0 || point.x >= innerWidth) {
      scrollTo({ left: scrollX + point.x - innerWidth / 2, top: scrollY + point.y - innerHeight / 2, behavior: "instant" });
      point = place(rects());
    }
    let steps = 0;
    for (let painter = info.painter; painter; painter = painter.next) {
      if (++steps > 100) return "too many layers";
      const box = painter.element.getBoundingClientRect();
      const inside = box.left <= point.x && point.x <= box.right && box.top <= point.y && point.y <= box.bottom;
      if (!inside && !canvas(painter.element)) return "outside the box that is painted";
      if (painter.opaque) break;
    }
    if (getComputedStyle(element).pointerEvents === "none") return null;
    const hits = element.getRootNode().elementsFromPoint(point.x, point.y);
    const own = hits.indexOf(element);
    if (own < 0) return "not on the screen";
    for (const other of hits.slice(own + 1, own + 100)) {
      const style = getComputedStyle(other), paints = alpha(style.backgroundColor);
      if (within(other, element)) { if (paints === 1) return null; continue; }
      if (paints > 0 || style.backgroundImage !== "none" || replaced.has(other.tagName)) return "over another element";
    }
    return null;
  };
  const add = (element, text, colour, rects) => {
    if (!text.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return;
    if (![...rects()].some((one) => one.width > 1 && one.height > 1)) return;
    if (element.closest(":disabled")) { disabled += 1; return; }
    if (texts.length >= LIMIT) throw new Error("more than " + LIMIT + " texts");
    const style = getComputedStyle(element), info = about(element);
    const shadow = style.textShadow !== "none" || Number.parseFloat(style.webkitTextStrokeWidth) > 0;
    if (element.namespaceURI !== "http://www.w3.org/1999/xhtml") return count("text in a drawing");
    if (info.image) return count("background image");
    if (info.effect || shadow) return count("effect");
    const why = beneath(element, info, rects);
    if (why) return count(why);
    const size = Number.parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const large = size >= 24 || (bold && size * 3 >= 56);
    texts.push([element.localName + ": " + text.trim().replace(/\s+/g, " ").slice(0, 40).toWellFormed(), colour, info.layer, large]);
  };
  const roots = [document], frames = document.querySelectorAll("iframe, frame").length;
  while (roots.length) {
    const root = roots.pop();
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.TEXT_NODE) {
        const element = node.parentElement || root.host;
        if (!element || !node.data.trim()) continue;
        add(element, node.data, getComputedStyle(element).webkitTextFillColor, () => {
          const range = document.createRange();
          range.selectNodeContents(node);
          return range.getClientRects();
        });
        continue;
      }
      if (node.shadowRoot) roots.push(node.shadowRoot);
      for (const part of ["::before", "::after"]) {
        const content = getComputedStyle(node, part).content;
        if (/"[^"]*[\p{L}\p{N}][^"]*"/u.test(content) && node.checkVisibility()) count("generated text");
      }
      if (node.localName === "input" || node.localName === "textarea" || node.localName === "select") {
        if (/^(hidden|checkbox|radio|range|color|file|image)$/.test(node.type)) continue;
        const rects = () => node.getClientRects();
        if (node.value) add(node, node.localName === "select" ? "(choice)" : "(value)", getComputedStyle(node).webkitTextFillColor, rects);
        else if (node.placeholder) add(node, node.placeholder, getComputedStyle(node, "::placeholder").color, rects);
      }
    }
  }
  if (frames) unknown["a frame"] = frames;
  scrollTo({ left: 0, top: 0, behavior: "instant" });
  const dark = /\bdark\b/.test(getComputedStyle(document.documentElement).colorScheme);
  return JSON.stringify({ layers, texts, unknown, disabled, dark });
})()
