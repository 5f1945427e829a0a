// Renders all tables of pages. Members and arguments that are called HTML must be escaped already.
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
  std::string html = {};  // heading in place of the title
};

struct HtmlCell {
  std::string html;
  std::optional<double> share = {};  // length of a bar behind the text, from 0 to 1
  std::string style = {};            // a further CSS class
  std::string sort = {};             // number for sorting; "" = by its text
};

struct HtmlRow {
  std::vector<HtmlCell> cells;
  std::string attributes = {};  // such as " class=\"same\""
};

/// A table. On narrow screens rows of the styles "figures" and "everything" become lists with the title beside each
/// cell.
struct HtmlTable {
  std::vector<HtmlColumn> columns = {};  // empty: no line of headings
  std::vector<HtmlRow> rows = {};
  std::string style = "figures";  // "": plain
  bool has_row_headings = false;  // the first cell of each row is a heading
  bool is_sortable = false;       // by clicks on headings (page/sort.js.inc)

  std::string html() const;
  /// The table in a box that scrolls if it is too narrow; `frame`: further CSS classes of the box.
  std::string scrolled(const std::string& frame = "") const;
};

/// Texts as a list; "" without any.
std::string notes_html(const std::vector<std::string>& notes);
/// A section with its heading and an explanation (HTML; "" = none); "" where the content is empty.
std::string section_html(const std::string& heading, const std::string& explanation, const std::string& content);
/// The head of a page: its kind ("report"), title, sentences as HTML, and facts about all of it.
std::string header_html(const std::string& kind, const std::string& title, const std::string& leads,
                        const std::vector<std::string>& chips);
/// A sentence of the head.
std::string lead_html(const std::string& sentence, bool warns = false);

/// A Table with its notes below, as a card.
std::string table_html(const Table& table, bool sortable);

/// Pairs of a name and a text (not HTML).
using Facts = std::vector<std::pair<std::string, std::string>>;
std::string facts_html(const Facts& facts);

/// A confusion matrix: rows are the true classes `told`, columns the predicted classes; `names` are HTML.
std::string confusion_html(const std::vector<std::string>& names, const std::vector<std::vector<std::int64_t>>& counts,
                           const std::vector<std::size_t>& told);

/// A share with a bar; "–" if there is none.
HtmlCell share_cell(const std::optional<double>& share);

}  // namespace evener::report
