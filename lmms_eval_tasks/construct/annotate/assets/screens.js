// What stands before the questions, and behind them.

const [opening, closing] = [document.getElementById("opening"), document.getElementById("closing")];
const begin = document.getElementById("begin");
const agree = document.getElementById("agree");

/** Shows an item's parts, or the closing words where there is none; nothing but the opening until it was begun. */
function showScreen(item) {
  const began = state.began !== null;
  opening.hidden = began;
  closing.hidden = !began || Boolean(item);
  for (const part of document.querySelectorAll(".item, .moves, .saving")) part.hidden = !began;
  if (!item) {
    document.querySelector(".item").hidden = true;
    area.replaceChildren();
    document.getElementById("keys").replaceChildren();
    showProgress();
    keep();
    closing.focus();
  }
  document.getElementById("practice").hidden = !began || !item?.practice;
}

begin.disabled = agree !== null;
agree?.addEventListener("change", () => { begin.disabled = !agree.checked; });
begin.addEventListener("click", () => {
  state.began = about.consent;
  show(state.at);
  form.focus({ preventScroll: true });
});
// A consent to other words is none to these.
if (state.began !== about.consent) state.began = null;

show(state.at);
performance.mark("item-shown");
