"use strict";
// Comfort only: every page says and does the same without this script.

const said = document.createElement("p");
said.className = "unseen";
said.setAttribute("role", "status");
document.body.append(said);

for (const command of document.querySelectorAll("pre.command")) {
  const button = document.createElement("button");
  const name = command.dataset.copy || "the command";
  const holder = document.createElement("div");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy ${name}`);
  holder.className = "copied";
  command.replaceWith(holder);
  holder.append(command, button);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
      said.textContent = `Copied ${name}`;
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
      said.textContent = `Selected ${name}; copy it with the keyboard`;
    }
  });
}

const list = document.querySelector("[data-filter]");
if (list) {
  const box = document.createElement("form");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const cards = [...list.children].map((card) => [card, card.textContent.toLowerCase()]);
  box.className = "search";
  box.setAttribute("role", "search");
  box.setAttribute("aria-label", "Filter this page");
  label.className = "wide";
  label.textContent = "Filter this page";
  input.type = "search";
  label.append(input);
  box.append(label);
  list.before(box);
  box.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const [card, text] of cards) {
      card.hidden = !words.every((word) => text.includes(word));
      left += card.hidden ? 0 : 1;
    }
    said.textContent = `${left} of ${cards.length} shown`;
  });
}
