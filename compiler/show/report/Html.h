// HTML and SVG as text, for the pages of dtc.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace dtc::html {

// Text between tags or in a quoted attribute: & < > " ' escaped, control characters and what is not
// UTF-8 replaced.
std::string escape(llvm::StringRef text);

// A coordinate: at most two decimals.
std::string coordinate(double value);

// A drawing in a box of `width` x `height` units, one unit a pixel at full width. `id` is unique on
// the page; title and description are for readers who don't see it.
class Svg {
public:
  Svg(double width, double height, llvm::StringRef id, llvm::StringRef title,
      llvm::StringRef description);

  // `title` is shown on hovering; empty: none.
  void rect(double x, double y, double width, double height, llvm::StringRef cssClass,
            llvm::StringRef title = "", double radius = 0);
  // Adds a line.
  void line(double x1, double y1, double x2, double y2, llvm::StringRef cssClass);
  // `anchor`: "start", "middle" or "end"; `y` is the baseline.
  void text(double x, double y, llvm::StringRef text, llvm::StringRef cssClass = "",
            llvm::StringRef anchor = "start");
  // `data` is the d of a path, made of numbers and letters.
  void path(llvm::StringRef data, llvm::StringRef cssClass, llvm::StringRef title = "");
  // Adds a circle. `title` is shown on hovering; empty: none.
  void circle(double x, double y, double radius, llvm::StringRef cssClass,
              llvm::StringRef title = "");
  // A rect of a colour that no class has, such as "hsl(120 50% 60%)".
  void cell(double x, double y, double width, double height, llvm::StringRef colour,
            llvm::StringRef title = "");

  // The whole element.
  std::string finish() const;

private:
  void close(llvm::StringRef element, llvm::StringRef title);

  double width, height;
  std::string id, title, description, body;
};

// A list of classes with the colours that charts have for them.
struct LegendEntry {
  llvm::StringRef cssClass;
  std::string text;
};
// Returns a legend as HTML.
std::string legend(llvm::ArrayRef<LegendEntry> entries);

// <figure> with a caption below the drawing; both are HTML already.
std::string figure(llvm::StringRef drawing, llvm::StringRef caption);

// One <section> with a heading; `content` is HTML already.
std::string section(llvm::StringRef id, llvm::StringRef heading, llvm::StringRef content);

// One figure of a page's header, for <dl class="figures">: a name, its value, and a note in small
// letters. All are text. `cssClass` marks the figure; empty: none.
std::string keyFigure(llvm::StringRef name, llvm::StringRef value, llvm::StringRef note,
                      llvm::StringRef cssClass = "");

// Returns a whole page with the style sheet of all pages. `title` is text; `header`, `content` and
// `footer` are HTML already.
std::string page(llvm::StringRef title, llvm::StringRef header, llvm::StringRef content,
                 llvm::StringRef footer);

// Rows of cells that are text; the first `textColumns` columns are text, the others figures.
class HtmlTable {
public:
  HtmlTable(std::string caption, std::vector<std::string> header, size_t textColumns = 1)
      : caption(std::move(caption)), header(std::move(header)), textColumns(textColumns) {}
  // `cssClass` marks the row; empty: none.
  void addRow(const std::vector<std::string> &cells, llvm::StringRef cssClass = "");
  // Returns the table as HTML.
  std::string finish() const;

private:
  std::string caption;
  std::vector<std::string> header;
  size_t textColumns;
  std::string rows;
};

} // namespace dtc::html
