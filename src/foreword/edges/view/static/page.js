// The page's one script. It keeps the key, fetches parts that the service has made, and puts them in place.
// It makes no markup of its own: whatever is shown was escaped by the service.
"use strict";

const main = document.getElementById("main");
const dialog = document.getElementById("dialog");
const keys = document.getElementById("keys");
const status = document.getElementById("status");
const STORED = "foreword-key";
const markup = window.trustedTypes
  ? trustedTypes.createPolicy("foreword", { createHTML: (made) => made })
  : { createHTML: (made) => made };
let asked = 0; // which request is the latest: a slower one must not overwrite it
let row = -1;
let opener = null; // what opened the dialog

// The key: it comes once, behind the # of the address, and lasts as long as the service runs.

function takeKey() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (!given) return;
  localStorage.setItem(STORED, given);
  history.replaceState(null, "", location.pathname + location.search);
}

async function ask(address, options = {}) {
  const headers = { Authorization: `Bearer ${localStorage.getItem(STORED) || ""}`, ...options.headers };
  return fetch(address, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
}

function put(place, made) {
  place.innerHTML = markup.createHTML(made);
}

function workspace() {
  return new URLSearchParams(location.search).get("w") || "";
}

function say(line) {
  status.textContent = "";
  requestAnimationFrame(() => { status.textContent = line; });
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { status.textContent = ""; }, 6000);
}

function whatIsMissing(code) {
  return code === 401 ? "This page needs its key" : "The service does not answer";
}

// The answer to something that was done on the page; without one the page stays as it is, and says why.
async function askFromPage(address, options) {
  let answer = null;
  try {
    answer = await ask(address, options);
  } catch { /* said below */ }
  if (answer && answer.status !== 401) return answer;
  say(`${whatIsMissing(answer?.status)}. In a terminal, type: foreword view`);
  return null;
}

function sayThatItIsClosed(code) {
  main.replaceChildren();
  const title = document.createElement("h1");
  const line = document.createElement("p");
  const command = document.createElement("code");
  title.textContent = whatIsMissing(code);
  line.textContent = "To open it, type this in a terminal: ";
  command.textContent = "foreword view";
  line.append(command);
  main.append(title, line);
  main.dataset.ready = "closed";
}

// Parts

async function show({ keepPlace = false, place = null } = {}) {
  const mine = ++asked;
  const path = location.pathname.replace(/^\/view\/?/, "") || "now";
  markPart(path.split("/")[0]);
  delete main.dataset.ready;
  let answer, made;
  try {
    answer = await ask(`/page/${path}${location.search}`);
    made = await answer.text();
  } catch {
    if (mine === asked) sayThatItIsClosed(0);
    return;
  }
  if (mine !== asked) return;
  if (answer.status === 401) return sayThatItIsClosed(401);
  put(main, made);
  const elsewhere = main.querySelector("[data-go]");
  if (elsewhere) return go(elsewhere.dataset.go, true).then(showFrame);
  row = -1;
  const title = main.querySelector("h1");
  document.title = title ? `${title.textContent} · Foreword` : "Foreword";
  if (!keepPlace) scrollTo(0, 0);
  if (place) focusPlace(place, title);
  else if (!keepPlace && title && asked > 1) title.focus({ preventScroll: true });
  for (const place of main.querySelectorAll("[data-load]")) load(place, place.dataset.load);
  for (const form of main.querySelectorAll("form[data-type]")) {
    fillAgain(form);
    if (form.elements.query.value) answerTyping(form);
  }
  main.dataset.ready = path;
}

// Where the keyboard was before a part is drawn anew: the line, by what it leads to, and how far down it stood.

function findPlace(element) {
  const line = element?.closest("main [data-row]");
  if (!line) return element?.closest("main") ? { at: -1 } : null;
  return { at: [...main.querySelectorAll("[data-row]")].indexOf(line), href: leadsTo(line) };
}

function leadsTo(line) {
  return line.querySelector("a")?.getAttribute("href");
}

function focusPlace(place, title) {
  const lines = [...main.querySelectorAll("[data-row]")];
  const same = place.href ? lines.findIndex((line) => leadsTo(line) === place.href) : -1;
  row = same >= 0 ? same : Math.min(place.at, lines.length - 1);
  const target = row >= 0 ? lines[row].querySelector("a, button") : title;
  target?.focus({ preventScroll: true });
}

function markPart(part) {
  for (const link of document.querySelectorAll("nav.parts a")) {
    const query = workspace() ? `?w=${encodeURIComponent(workspace())}` : "";
    link.href = `/view/${link.dataset.part}${query}`;
    if (link.dataset.part === part) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function showFrame() {
  const place = document.getElementById("frame");
  try {
    const answer = await ask(`/page/frame?w=${encodeURIComponent(workspace())}`);
    if (!answer.ok) return;
    put(place, await answer.text());
  } catch { return; }
  const choice = place.querySelector("select");
  if (!workspace() && choice.options.length > 1 && !location.pathname.startsWith("/view/r/")) {
    choice.remove(0);
    go(`${location.pathname}?w=${encodeURIComponent(choice.value)}`, true);
  }
  choice.addEventListener("change", () => {
    const part = location.pathname.split("/")[2] || "now";
    go(`/view/${part}?w=${encodeURIComponent(choice.value)}`);
  });
}

function go(address, instead = false) {
  if (instead) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  return show();
}

async function load(place, address) {
  const answer = await askFromPage(address);
  if (answer) put(place, await answer.text());
  place.removeAttribute("data-load");
}

// The dialog

async function openDialog(button) {
  const answer = await askFromPage(button.dataset.dialog);
  if (!answer) return;
  opener = button;
  fillDialog(await answer.text());
}

function fillDialog(made) {
  put(dialog, made);
  dialog.setAttribute("aria-label", dialog.querySelector("h1, h2")?.textContent || "");
  if (!dialog.querySelector("[data-close]")) {
    const close = document.createElement("button");
    close.type = "button";
    close.dataset.close = "";
    close.textContent = "Close";
    dialog.append(close);
  }
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("[autofocus], [data-close]").focus();
}

// What was typed stays where it is.
function complain(form, made) {
  const place = form.querySelector(".complaint") || document.createElement("div");
  place.className = "complaint";
  put(place, made);
  form.prepend(place);
}

dialog.addEventListener("close", () => {
  if (!("done" in dialog.dataset)) return;
  delete dialog.dataset.done;
  afterForgetting();
});

// Forms: some lead to another address, some do something, one is answered as one types.

function fields(form) {
  return Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
}

function follow(form) {
  const query = new URLSearchParams({ w: workspace(), ...fields(form) });
  return go(`${form.dataset.get.split("?")[0]}?${query}`);
}

function send(address, form) {
  return askFromPage(address, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ w: form.dataset.w, ...fields(form) }),
  });
}

async function act(form) {
  const button = form.querySelector("button[type=submit]");
  const place = findPlace(dialog.open ? opener : form);
  if (button) button.disabled = true;
  try {
    const answer = await send(form.dataset.post, form);
    if (!answer) return;
    if (!answer.ok) {
      const made = await answer.text();
      return dialog.open ? complain(form, made) : fillDialog(made);
    }
    const outcome = await answer.json();
    say(outcome.message);
    if (outcome.html) {
      dialog.dataset.done = "";
      return fillDialog(outcome.html);
    }
    if (dialog.open) dialog.close();
    if (outcome.go) await go(outcome.go);
    else await show({ keepPlace: true, place });
  } finally {
    if (button) button.disabled = false;
  }
}

// What was tried stays in the tab's history, for who comes back from an item; it is in no address.
function fillAgain(form) {
  for (const [name, value] of Object.entries(history.state?.tried || {})) {
    form.elements[name].value = value;
    showValue(form, form.elements[name]);
  }
}

function showValue(form, field) {
  const shown = form.querySelector(`output[for="${field.id}"]`);
  if (shown) shown.textContent = field.value;
}

async function answerTyping(form) {
  history.replaceState({ tried: fields(form) }, "");
  const place = document.querySelector(form.dataset.target);
  const mine = (form.asked = (form.asked || 0) + 1);
  place.setAttribute("aria-busy", "true");
  const answer = await send(form.dataset.type, form);
  const made = answer && (await answer.text());
  if (mine !== form.asked) return;
  if (made === null) return place.removeAttribute("aria-busy");
  put(place, made);
  place.removeAttribute("aria-busy");
  place.dataset.answered = form.elements.query.value;
}

// What happens on a click, a key, a change

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/view']");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    if (dialog.open) dialog.close();
    go(link.getAttribute("href"));
    return;
  }
  const opens = event.target.closest("[data-dialog]");
  if (opens) {
    openDialog(opens);
    return;
  }
  event.target.closest("[data-close]")?.closest("dialog").close();
  if (event.target.closest("#help")) keys.showModal();
});

function afterForgetting() {
  const [part, name] = location.pathname.replace(/^\/view\/?/, "").split("/");
  if (part === "memory" && name) go(`/view/memory?w=${encodeURIComponent(workspace())}`);
  else show({ keepPlace: true, place: findPlace(opener) });
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.dataset.get) follow(form);
  else if (form.dataset.post) act(form);
  else if (form.dataset.type) answerTyping(form);
});

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form || !form.dataset.type) return;
  showValue(form, event.target);
  clearTimeout(form.timer);
  form.timer = setTimeout(() => form.isConnected && answerTyping(form), 250);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.dataset.get && event.target.tagName === "SELECT") follow(form);
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || dialog.open || keys.open) return;
  const parts = document.querySelectorAll("nav.parts a");
  if (event.key >= "1" && event.key <= "5") go(parts[event.key - 1].getAttribute("href"));
  else if (event.key === "j" || event.key === "k") moveRow(event.key === "j" ? 1 : -1);
  else if (event.key === "/") focusSearch(event);
  else if (event.key === "?") keys.showModal();
  else if (event.key === "n" || event.key === "p") main.querySelector(`a[data-key="${event.key}"]`)?.click();
});

function moveRow(step) {
  const rows = main.querySelectorAll("[data-row]");
  if (!rows.length) return;
  row = Math.max(0, Math.min(rows.length - 1, row + step));
  rows[row].querySelector("a, button")?.focus();
  rows[row].scrollIntoView({ block: "nearest" });
}

function focusSearch(event) {
  const field = main.querySelector("input[type=search], textarea");
  if (!field) return;
  event.preventDefault();
  field.focus();
}

addEventListener("popstate", () => show());

// The list of prompts asks now and then whether there is a newer one, while somebody looks.

setInterval(async () => {
  const live = main.querySelector("[data-live]");
  if (!live || document.hidden) return;
  try {
    const answer = await ask(live.dataset.live);
    if (answer.ok && live.isConnected && (await answer.text()) !== live.dataset.seen) {
      await show({ keepPlace: true, place: findPlace(document.activeElement.closest("[data-row]")) });
      say("A new prompt was answered.");
    }
  } catch { /* the service has stopped: what is shown stays */ }
}, 2000);

takeKey();
show();
showFrame();
