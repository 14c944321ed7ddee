// Clips, from the page itself or from the folder beside it.

/** An element with a class and children; a string among them becomes text, never markup. */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const addresses = new Map();

/** Where a clip can be played from. */
function addressOf(name) {
  if (!addresses.has(name)) {
    const held = document.getElementById(`clip-${name}`);
    let address = `${about.folder}/${encodeURIComponent(name)}`;
    if (held) {
      const bytes = Uint8Array.from(atob(held.textContent), (character) => character.charCodeAt(0));
      address = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
    }
    addresses.set(name, address);
  }
  return addresses.get(name);
}

function makeVideo([name, label], place) {
  const video = make("video");
  Object.assign(video, { muted: true, playsInline: true, preload: "auto", src: addressOf(name) });
  video.setAttribute("aria-label", label ? `Clip: ${label}` : `Clip of question ${place}`);
  const figure = make("figure", "clip", video, label ? make("figcaption", "", label) : null);
  video.addEventListener("error", () => video.replaceWith(make("p", "gone", "The clip cannot be played.")));
  return { figure, video };
}

/** The clips of an item. Where they may be played a number of times, one after the other and nothing else; else freely. */
function showClips(item, area) {
  if (item.pictures) {
    area.replaceChildren(...item.pictures.map((src, place) => {
      const what = `The last frame of ${item.pictures.length > 1 ? `clip ${place + 1}` : "the clip"}`;
      const picture = make("img");
      Object.assign(picture, { src, alt: what });
      return make("figure", "clip", picture, make("figcaption", "", what));
    }));
    return;
  }
  const shown = item.clips.map((clip) => makeVideo(clip, item.place));
  const before = item.before ? [make("p", "before", item.before)] : [];
  area.replaceChildren(...before, ...shown.map(({ figure }) => figure));
  if (item.replays !== null) {
    area.append(makeTurns(item, shown));
    return;
  }
  for (const { video } of shown) {
    video.controls = true;
    video.addEventListener("ended", () => { state.plays[item.place] = (state.plays[item.place] || 0) + 1; });
  }
}

/** Whether every clip of an item was seen to its end. */
const isSeen = (item) => item.clips.every((_, number) => (state.seen[item.place] || []).includes(number));

/** Plays a clip from its beginning, and keeps that it was seen once it has ended, or cannot be played at all. */
async function playToEnd(item, video, number) {
  video.currentTime = 0;
  const ended = await new Promise((resolve) => {
    video.addEventListener("ended", () => resolve(true), { once: true });
    video.addEventListener("error", () => resolve(true), { once: true });
    video.play().catch(() => resolve(video.error !== null));
  });
  if (ended) state.seen[item.place] = [...new Set([...(state.seen[item.place] || []), number])];
  keep();
}

/** Plays the clips of an item in their order, as often as it may be: each beginning counts, also one that is broken off.
 * Until all were seen to their end they may be begun again. */
function makeTurns(item, shown) {
  const button = make("button", "main", "");
  button.type = "button";
  button.id = "play";
  const note = make("span", "", "");
  let playing = false;
  const left = () => item.replays + 1 - (state.plays[item.place] || 0);
  function show() {
    const played = state.plays[item.place] || 0;
    button.textContent = played ? "Play again" : "Play";
    button.disabled = playing || (left() <= 0 && isSeen(item));
    note.textContent = played ? `${Math.max(0, left())} more times` : "";
  }
  button.addEventListener("click", async () => {
    playing = true;
    state.plays[item.place] = (state.plays[item.place] || 0) + 1;
    keep();
    show();
    for (const [number, { video, figure }] of shown.entries()) {
      figure.classList.add("showing");
      await playToEnd(item, video, number);
      figure.classList.remove("showing");
    }
    playing = false;
    show();
    button.dispatchEvent(new Event("played", { bubbles: true }));
  });
  show();
  return make("div", "transport", button, note);
}
