"use strict";
(() => {
  const box = document.getElementById("search");
  const said = document.getElementById("found");
  const things = [...document.querySelectorAll("main tbody tr, .nodes > li, .queues > li")];
  const texts = things.map((e) => e.textContent.toLowerCase());
  const domains = [...document.querySelectorAll(".domain")];
  const show = () => {
    const word = box.value.trim().toLowerCase();
    let n = 0;
    things.forEach((e, i) => {
      e.hidden = word !== "" && !texts[i].includes(word);
      n += e.hidden ? 0 : 1;
    });
    for (const d of domains) d.hidden = !d.querySelector(".nodes > li:not([hidden])");
    said.textContent = word === "" ? "" : `${n} found`;
  };
  box.addEventListener("input", () => requestAnimationFrame(show));
  box.closest("form").addEventListener("submit", (e) => e.preventDefault());
  if (box.value) show();
})();
