#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/utf8.h"

namespace evener {
namespace {

/// Into `cells`, whose memory is used again.
void split_line(std::string_view line, std::string_view separators, std::vector<std::string>& cells) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::size_t count = 0;
  const auto begin_cell = [&]() -> std::string& {
    if (count == cells.size()) cells.emplace_back();
    cells[count].clear();
    return cells[count++];
  };
  std::string* cell = &begin_cell();
  bool quoted = false;
  for (std::size_t n = 0; n < line.size(); ++n) {
    const char c = line[n];
    if (c == '"' && quoted && line.substr(n + 1).starts_with('"')) {
      *cell += line[++n];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && separators.find(c) != std::string_view::npos) {
      cell = &begin_cell();
    } else {
      *cell += c;
    }
  }
  cells.resize(count);
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (!is_utf8(text)) return csv_cell(to_utf8_text(text));
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string doubled;
  for (const char c : text) doubled.append(c == '"' ? 2 : 1, c);
  return fmt::format("\"{}\"", doubled);
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (&cell == &cells.front() ? "" : ",") + csv_cell(cell);
  return line + "\n";
}

std::vector<std::string> csv_cells(std::string_view line, std::string_view separators) {
  std::vector<std::string> cells;
  split_line(line, separators, cells);
  return cells;
}

CsvReader::CsvReader(std::istream& lines) : lines_(lines) {
  if (!next()) return;
  titles_ = cells_;
  // A byte order mark would be part of the first title, and is not to be seen.
  titles_[0] = text_without_byte_order_mark(titles_[0]);
}

std::optional<std::size_t> CsvReader::find_column(std::string_view title) const {
  const auto found = std::ranges::find(titles_, title);
  if (found == titles_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - titles_.begin());
}

bool CsvReader::next() {
  while (std::getline(lines_, text_)) {
    ++line_;
    if (text_.find_first_not_of(" \r") == std::string::npos) continue;
    split_line(text_, ",", cells_);
    return true;
  }
  return false;
}

const std::string& CsvReader::cell(std::size_t column) const {
  static const std::string none;
  return column < cells_.size() ? cells_[column] : none;
}

CsvWriter::CsvWriter(std::filesystem::path path, std::string_view heading)
    : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {
  add(fmt::format("{}\n", heading));
}

void CsvWriter::add(std::string_view lines) {
  errno = 0;
  file_ << lines << std::flush;
  if (!file_) fail_to_write(path_, errno);
}

}  // namespace evener
