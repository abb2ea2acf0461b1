// HTML and SVG as text.
#include "compiler/show/report/Html.h"

#include "compiler/show/report/Style.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace dtc::html {

std::string escape(llvm::StringRef text) {
  std::string valid = llvm::json::fixUTF8(text), escaped;
  for (char letter : valid)
    switch (letter) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    case '\'':
      escaped += "&#39;";
      break;
    default:
      // HTML has no control characters but these.
      if (static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t')
        escaped += "&#xFFFD;";
      else
        escaped += letter;
    }
  return escaped;
}

std::string coordinate(double value) {
  if (!std::isfinite(value))
    return "0";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2f", value);
  while (text.back() == '0')
    text.pop_back();
  if (text.back() == '.')
    text.pop_back();
  return text == "-0" ? "0" : text;
}

static std::string attribute(llvm::StringRef name, double value) {
  return " " + name.str() + "=\"" + coordinate(value) + "\"";
}

static std::string classOf(llvm::StringRef cssClass) {
  return cssClass.empty() ? "" : " class=\"" + cssClass.str() + "\"";
}

Svg::Svg(double width, double height, llvm::StringRef id, llvm::StringRef title,
         llvm::StringRef description)
    : width(width), height(height), id(id), title(title), description(description) {}

void Svg::close(llvm::StringRef element, llvm::StringRef hover) {
  if (hover.empty())
    body += "/>\n";
  else
    body += "><title>" + escape(hover) + "</title></" + element.str() + ">\n";
}

void Svg::rect(double x, double y, double w, double h, llvm::StringRef cssClass,
               llvm::StringRef hover, double radius) {
  body += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", std::max(0.0, w)) +
          attribute("height", std::max(0.0, h)) + classOf(cssClass);
  if (radius > 0)
    body += attribute("rx", radius);
  close("rect", hover);
}

void Svg::cell(double x, double y, double w, double h, llvm::StringRef colour,
               llvm::StringRef hover) {
  body += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", w) +
          attribute("height", h) + " fill=\"" + colour.str() + "\"";
  close("rect", hover);
}

void Svg::line(double x1, double y1, double x2, double y2, llvm::StringRef cssClass) {
  body += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
          attribute("y2", y2) + classOf(cssClass) + "/>\n";
}

void Svg::text(double x, double y, llvm::StringRef text, llvm::StringRef cssClass,
               llvm::StringRef anchor) {
  body += "<text" + attribute("x", x) + attribute("y", y) + classOf(cssClass);
  if (anchor != "start")
    body += " text-anchor=\"" + anchor.str() + "\"";
  body += ">" + escape(text) + "</text>\n";
}

void Svg::path(llvm::StringRef data, llvm::StringRef cssClass, llvm::StringRef hover) {
  body += "<path d=\"" + data.str() + "\"" + classOf(cssClass);
  close("path", hover);
}

void Svg::circle(double x, double y, double radius, llvm::StringRef cssClass,
                 llvm::StringRef hover) {
  body += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) +
          classOf(cssClass);
  close("circle", hover);
}

std::string Svg::finish() const {
  return "<div class=\"drawing\"><svg id=\"" + id + "\" viewBox=\"0 0 " + coordinate(width) + " " +
         coordinate(height) + "\" style=\"max-width:" + coordinate(width) +
         "px\" role=\"img\" aria-labelledby=\"" + id + "-title " + id + "-desc\">\n<title id=\"" +
         id + "-title\">" + escape(title) + "</title>\n<desc id=\"" + id + "-desc\">" +
         escape(description) + "</desc>\n" + body + "</svg></div>\n";
}

std::string legend(llvm::ArrayRef<LegendEntry> entries) {
  std::string list = "<ul class=\"legend\">\n";
  for (const LegendEntry &entry : entries)
    list += "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" "
            "height=\"12\" rx=\"2\"" +
            classOf(entry.cssClass) + "/></svg>" + escape(entry.text) + "</li>\n";
  return list + "</ul>\n";
}

std::string figure(llvm::StringRef drawing, llvm::StringRef caption) {
  std::string html = "<figure>\n" + drawing.str();
  if (!caption.empty())
    html += "<figcaption>" + caption.str() + "</figcaption>\n";
  return html + "</figure>\n";
}

std::string section(llvm::StringRef id, llvm::StringRef heading, llvm::StringRef content) {
  return "<section id=\"" + id.str() + "\">\n<h2>" + escape(heading) + "</h2>\n" + content.str() +
         "</section>\n";
}

std::string keyFigure(llvm::StringRef name, llvm::StringRef value, llvm::StringRef note,
                      llvm::StringRef cssClass) {
  return "<div" + classOf(cssClass) + "><dt>" + escape(name) + "</dt><dd>" + escape(value) +
         "<small>" + escape(note) + "</small></dd></div>\n";
}

std::string page(llvm::StringRef title, llvm::StringRef header, llvm::StringRef content,
                 llvm::StringRef footer) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
         "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link "
         "rel=\"icon\" href=\"data:,\">\n<title>" +
         escape(title) + "</title>\n<style>" + styleSheet().str() + "</style>\n</head>\n<body>\n" +
         header.str() + "<main>\n" + content.str() + "</main>\n<footer>" + footer.str() +
         "</footer>\n</body>\n</html>\n";
}

void HtmlTable::addRow(const std::vector<std::string> &cells, llvm::StringRef cssClass) {
  rows += "<tr" + classOf(cssClass) + ">";
  for (size_t column = 0; column < cells.size(); ++column) {
    if (column == 0)
      rows += "<th scope=\"row\">" + escape(cells[0]) + "</th>";
    else
      rows += (column < textColumns ? "<td>" : "<td class=\"figure\">") + escape(cells[column]) +
              "</td>";
  }
  rows += "</tr>\n";
}

std::string HtmlTable::finish() const {
  std::string html = "<div class=\"drawing\"><table>\n";
  if (!caption.empty())
    html += "<caption>" + escape(caption) + "</caption>\n";
  html += "<thead><tr>";
  for (size_t column = 0; column < header.size(); ++column)
    html += (column < textColumns ? "<th scope=\"col\">" : "<th scope=\"col\" class=\"figure\">") +
            escape(header[column]) + "</th>";
  return html + "</tr></thead>\n<tbody>\n" + rows + "</tbody></table></div>\n";
}

} // namespace dtc::html
