// Tests HTML and SVG text.
#include "compiler/show/report/Html.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dtc::html;

TEST(Escape, LeavesNothingThatEndsTextOrAttribute) {
  EXPECT_EQ(escape("a<b & \"c\" > 'd'"), "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(escape("\x01"), "&#xFFFD;");
  EXPECT_EQ(escape("\xff").find('\xff'), std::string::npos); // not UTF-8
}

TEST(Coordinate, IsShort) {
  EXPECT_EQ(coordinate(12.5), "12.5");
  EXPECT_EQ(coordinate(1.0 / 3), "0.33");
  EXPECT_EQ(coordinate(40), "40");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(std::nan("")), "0");
}

TEST(Svg, NamesItselfForThoseWhoDoNotSeeIt) {
  Svg svg(100, 50, "id", "A <title>", "what it shows");
  svg.rect(1, 2, 3, -4, "row", "hover & see");
  std::string text = svg.finish();
  EXPECT_NE(text.find("aria-labelledby=\"id-title id-desc\""), std::string::npos);
  EXPECT_NE(text.find("<title id=\"id-title\">A &lt;title&gt;</title>"), std::string::npos);
  EXPECT_NE(text.find("height=\"0\""), std::string::npos); // a height is not negative
  EXPECT_NE(text.find("<title>hover &amp; see</title></rect>"), std::string::npos);
}

TEST(HtmlTable, TellsTextFromFigures) {
  HtmlTable table("caption", {"name", "step"});
  table.addRow({"a<b", "1 s"}, "best");
  std::string text = table.finish();
  EXPECT_NE(
      text.find("<tr class=\"best\"><th scope=\"row\">a&lt;b</th><td class=\"figure\">1 s</td>"),
      std::string::npos);
}
