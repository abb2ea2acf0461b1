"""Opens a page in headless Chromium and measures it there: open-page.py PAGE.html WORK-FOLDER SECTIONS

A copy of the page gets a script that writes the measurements into the title of the document.
"""
import html
import json
import os
import re
import subprocess
import sys

MEASURE = """<script>
addEventListener('load', () => {
  const outside = [], invisible = [];
  for (const svg of document.querySelectorAll('.drawing svg')) {
    const box = svg.getBoundingClientRect();
    if (box.width < 100 || box.height < 40) invisible.push(svg.id);
    for (const text of svg.querySelectorAll('text')) {
      const at = text.getBoundingClientRect();
      if (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 ||
          at.bottom > box.bottom + 1)
        outside.push(svg.id + ': ' + text.textContent);
    }
  }
  document.title = JSON.stringify({
    sections: document.querySelectorAll('section').length,
    drawings: document.querySelectorAll('.drawing svg').length,
    width: document.documentElement.scrollWidth, window: innerWidth,
    requests: performance.getEntriesByType('resource').length, outside, invisible});
});
</script></body>"""

page, folder, sections = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.makedirs(folder, exist_ok=True)
copy = os.path.join(folder, "page.html")
with open(page, encoding="utf-8") as file:
    text = file.read().replace("</body>", MEASURE)
with open(copy, "w", encoding="utf-8") as file:
    file.write(text)
for width in (1200, 700):
    run = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile",
         f"--window-size={width},1500", "--virtual-time-budget=5000", "--dump-dom", "file://" + os.path.abspath(copy)],
        capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    found = re.search(r"<title>(\{.*?\})</title>", run.stdout, re.S)
    assert found, run.stdout[:2000]
    seen = json.loads(html.unescape(found.group(1)))
    print(width, seen)
    assert seen["sections"] == sections and seen["drawings"] >= 4, seen
    assert seen["requests"] == 0, seen
    assert not seen["outside"] and not seen["invisible"], seen
    assert seen["width"] <= seen["window"], seen
