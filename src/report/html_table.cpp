#include "report/html_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "report/format.h"

namespace evener::report {
namespace {

std::string heading_html(const HtmlColumn& column, bool sortable) {
  const std::string title = column.html.empty() ? escape_html(column.title) : column.html;
  return fmt::format("<th{}>{}</th>", column.numeric ? " class=\"number\"" : "",
                     sortable ? fmt::format("<button type=\"button\" class=\"sort\">{}</button>", title) : title);
}

/// `column`: null without headings.
std::string cell_html(const HtmlCell& cell, const HtmlColumn* column, bool titled) {
  std::string classes = column != nullptr && column->numeric ? "number" : "";
  if (cell.share && cell.style.empty()) classes += classes.empty() ? "bar" : " bar";
  if (!cell.style.empty()) classes += (classes.empty() ? "" : " ") + cell.style;
  std::string html = "<td";
  if (!classes.empty()) html += fmt::format(" class=\"{}\"", classes);
  if (titled) html += fmt::format(" data-title=\"{}\"", escape_html(column->title));
  if (!cell.sort.empty()) html += fmt::format(" data-sort=\"{}\"", escape_html(cell.sort));
  if (cell.share) html += fmt::format(" style=\"--share:{:.4f}\"", std::clamp(*cell.share, 0.0, 1.0));
  return html + (titled ? "><span>" + cell.html + "</span></td>" : ">" + cell.html + "</td>");
}

/// A text that may be broken only before its part in brackets.
std::string breakable_html(const std::string& text) {
  const std::size_t bracket = std::min(text.find(" ("), text.find(" ["));
  if (bracket == std::string::npos) return escape_html(text);
  return fmt::format("<span>{}</span> <span>{}</span>", escape_html(text.substr(0, bracket)),
                     escape_html(text.substr(bracket + 1)));
}

/// The leading number of a text such as "26.9 (26.1 to 27.7)" or "1,234 MB"; "" without one.
std::string leading_number(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c == ',' && !digits.empty()) continue;
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && !(c == '-' && digits.empty())) break;
    digits += c;
  }
  return digits == "-" ? "" : digits;
}

}  // namespace

std::string HtmlTable::html() const {
  const bool titled = !columns.empty() && (style == "figures" || style == "everything");
  const std::string classes = style + (is_sortable ? " sortable" : "");
  std::string html = classes.empty() ? "<table>" : fmt::format("<table class=\"{}\">", classes);
  if (!columns.empty()) {
    html += "<thead><tr>";
    for (const HtmlColumn& column : columns) html += heading_html(column, is_sortable);
    html += "</tr></thead>";
  }
  html += "<tbody>";
  for (const HtmlRow& row : rows) {
    html += "<tr" + row.attributes + ">";
    for (std::size_t n = 0; n < row.cells.size(); ++n) {
      html += n == 0 && has_row_headings ? "<th>" + row.cells[n].html + "</th>"
                                         : cell_html(row.cells[n], columns.empty() ? nullptr : &columns[n], titled);
    }
    html += "</tr>";
  }
  return html + "</tbody></table>";
}

std::string HtmlTable::scrolled(const std::string& frame) const {
  return fmt::format("<div class=\"{}scroll\">{}</div>", frame.empty() ? "" : frame + " ", html());
}

std::string table_html(const Table& table, bool sortable) {
  HtmlTable made{.is_sortable = sortable};
  for (const Column& column : table.columns) made.columns.push_back({column.title, column.numeric});
  for (const auto& row : table.rows) {
    HtmlRow& cells = made.rows.emplace_back();
    for (std::size_t n = 0; n < row.size(); ++n) {
      cells.cells.push_back({.html = table.columns[n].numeric ? breakable_html(row[n]) : escape_html(row[n]),
                             .sort = leading_number(row[n])});
    }
  }
  return made.scrolled("card") +
         (table.notes.empty() ? "" : "<div class=\"card\">" + notes_html(table.notes) + "</div>");
}

std::string notes_html(const std::vector<std::string>& notes) {
  std::string items;
  for (const std::string& note : notes) items += "<li>" + escape_html(note) + "</li>";
  return items.empty() ? "" : "<ul class=\"notes\">" + items + "</ul>";
}

std::string section_html(const std::string& heading, const std::string& explanation, const std::string& content) {
  if (content.empty()) return "";
  return fmt::format("<section><h2>{}</h2>{}{}</section>", heading,
                     explanation.empty() ? "" : "<p class=\"explain\">" + explanation + "</p>", content);
}

std::string header_html(const std::string& kind, const std::string& title, const std::string& leads,
                        const std::vector<std::string>& chips) {
  std::string items;
  for (const std::string& chip : chips) items += chip.empty() ? "" : "<li>" + escape_html(chip) + "</li>";
  return fmt::format("<header><p class=\"brand\"><b>evener</b> {}</p><h1>{}</h1>{}<ul class=\"chips\">{}</ul></header>",
                     kind, escape_html(title), leads, items);
}

std::string lead_html(const std::string& sentence, bool warns) {
  return fmt::format("<p class=\"lead{}\">{}</p>", warns ? " warns" : "", escape_html(sentence));
}

std::string facts_html(const Facts& facts) {
  HtmlTable table{.style = "", .has_row_headings = true};
  for (const auto& [name, value] : facts) {
    table.rows.push_back({{{escape_html(name)}, {value.empty() ? "–" : escape_html(value)}}});
  }
  return table.html();
}

std::string confusion_html(const std::vector<std::string>& names, const std::vector<std::vector<std::int64_t>>& counts,
                           const std::vector<std::size_t>& told) {
  HtmlTable table{.columns = {{"is \\ taken for"}}, .style = "confusion", .has_row_headings = true};
  for (const std::size_t c : told) table.columns.push_back({.title = "", .html = names[c]});
  for (const std::size_t is : told) {
    HtmlRow& row = table.rows.emplace_back();
    row.cells.push_back({names[is]});
    const auto total = std::max<std::int64_t>(1, std::accumulate(counts[is].begin(), counts[is].end(), std::int64_t{}));
    for (const std::size_t taken_for : told) {
      const std::int64_t count = counts[is][taken_for];
      row.cells.push_back({.html = count == 0 ? "" : std::to_string(count),
                           .share = static_cast<double>(count) / static_cast<double>(total),
                           .style = is == taken_for ? "right" : "wrong"});
    }
  }
  return table.scrolled();
}

HtmlCell share_cell(const std::optional<double>& share) {
  return {.html = share ? percent_text(*share) : "–", .share = share};
}

}  // namespace evener::report
