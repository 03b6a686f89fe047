// Values at the cursor: a box beside the cursor's line in each graph.

// Shows `lines` in `pane` beside `x`, points from the plot's left edge; hides the box without lines.
function showValues(pane, lines, x, width) {
  const { values } = pane;
  values.hidden = lines.length === 0;
  if (values.hidden) return;
  const isRight = x < width / 2;
  values.replaceChildren(
    ...lines.map(([name, value]) => element("div", {}, element("span", {}, name), ` ${value}`)),
  );
  values.style.left = isRight ? `${x + 8}px` : "";
  values.style.right = isRight ? "" : `${width - x + 8}px`;
  // A rising curve leaves room below it on its right, and above it on its left.
  values.classList.toggle("low", isRight && pane.graph.id === "sequence");
}
