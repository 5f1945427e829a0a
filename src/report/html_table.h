// Tables on pages, all of which are rendered here. Inside report/ only. What is called HTML is harmless already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/table.h"

namespace evener::report {

struct HtmlColumn {
  std::string title;
  bool numeric = false;
  std::string html = {};  // of the heading, in place of the title
};

struct HtmlCell {
  std::string html;
  std::optional<double> share = {};  // of a bar behind it, from 0 to 1
  std::string style = {};            // a class beside that of its column
  std::string sort = {};             // the number that it is sorted by; "" = its text
};

struct HtmlRow {
  std::vector<HtmlCell> cells;
  std::string attributes = {};  // such as " class=\"same\""
};

/// On a narrow screen rows of style "figures" and "everything" become lists: the title stands beside each cell.
struct HtmlTable {
  std::vector<HtmlColumn> columns = {};  // none: there is no line of headings
  std::vector<HtmlRow> rows = {};
  std::string style = "figures";  // "": plain
  bool has_row_headings = false;  // the first cell of each row is one
  bool is_sortable = false;       // by clicks on headings, with page/sort.js

  std::string html() const;
  /// In a box that scrolls where it is too narrow; `frame`: more classes of it.
  std::string scrolled(const std::string& frame = "") const;
};

/// A table for people, with its notes below, in cards.
std::string table_html(const Table& table, bool sortable);

/// Names and what they are, of text.
using Facts = std::vector<std::pair<std::string, std::string>>;
std::string facts_html(const Facts& facts);

/// How often each of the classes `told` (a row) was taken for which (a column); `names` are HTML.
std::string confusion_html(const std::vector<std::string>& names, const std::vector<std::vector<std::int64_t>>& counts,
                           const std::vector<std::size_t>& told);

/// A share with a bar; "–" if there is none.
HtmlCell share_cell(const std::optional<double>& share);

}  // namespace evener::report
