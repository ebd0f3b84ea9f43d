// A button to copy each command and query. Without scripts they can be marked
// and copied by hand.
"use strict";
for (const pre of document.querySelectorAll("pre.copy")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(pre.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  pre.after(button);
}
