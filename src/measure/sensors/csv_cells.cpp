#include "measure/sensors/csv_cells.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cctype>

#include "base/csv.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::measure {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kGroup = 3;  // digits between thousands marks

/// Whether `digits` are grouped in thousands: one to three digits, then groups of three after each mark.
bool are_thousands(std::string_view digits, char mark) {
  std::size_t first = digits.find(mark);
  if (first == std::string_view::npos || first < 1 || first > kGroup) return false;
  while (first < digits.size()) {
    const std::size_t next = std::min(digits.find(mark, first + 1), digits.size());
    if (next - first - 1 != kGroup) return false;
    first = next;
  }
  return true;
}

std::string without(std::string_view text, char mark) {
  std::string rest(text);
  std::erase(rest, mark);
  return rest;
}

/// Replaces blanks, no-break spaces and apostrophes by one blank each.
std::string with_plain_blanks(std::string text) {
  for (const std::string_view wide : {"\u00A0", "\u202F", "\u2009", "'", "\u2019"}) {
    for (std::size_t at = text.find(wide); at != std::string::npos; at = text.find(wide)) {
      text.replace(at, wide.size(), " ");
    }
  }
  return text;
}

double plain_number(const std::string& text, const std::string& cell) {
  const auto number = to_number<double>(text);
  if (!number) throw Error(quoted_text(cell) + " is no number");
  return *number;
}

/// Parses a cell that has only one kind of mark, `mark`; `decimal`: the decimal mark of the column, if known.
double number_of_one_mark(const std::string& text, const std::string& cell, char mark, DecimalMark& column) {
  const DecimalMark own = mark == ',' ? DecimalMark::kComma : DecimalMark::kPoint;
  const bool is_single = text.find(mark) == text.rfind(mark);
  const std::string_view unsigned_text = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  const bool may_be_thousands = are_thousands(unsigned_text, mark);
  if (!is_single && !may_be_thousands) throw Error(quoted_text(cell) + " is no number");
  std::string as_decimal = text;
  std::ranges::replace(as_decimal, ',', '.');
  if (!may_be_thousands) {
    if (column != DecimalMark::kUnknown && column != own) {
      throw Error(quoted_text(cell) +
                  " is written otherwise than the rows before it, so that it may be another number");
    }
    column = own;
    return plain_number(as_decimal, cell);
  }
  if (!is_single) {  // 1,234,567
    column = own == DecimalMark::kComma ? DecimalMark::kPoint : DecimalMark::kComma;
    return plain_number(without(text, mark), cell);
  }
  if (column == DecimalMark::kUnknown && own == DecimalMark::kComma) {
    throw Error(quoted_text(cell) + " may be " + without(text, mark) + " or " + as_decimal +
                ": have the logger write numbers with a decimal point, and without marks between thousands");
  }
  return plain_number(column == DecimalMark::kUnknown || column == own ? as_decimal : without(text, mark), cell);
}

}  // namespace

char csv_separator(std::string_view line) {
  bool quoted = false, has_semicolon = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\t') return '\t';
    has_semicolon = has_semicolon || c == ';';
  }
  return has_semicolon ? ';' : ',';
}

std::vector<std::string> trimmed_cells(std::string_view line, char separator) {
  std::vector<std::string> cells = csv_cells(line, {&separator, 1});
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

double csv_number(const std::string& cell, DecimalMark& mark) {
  std::string text = with_plain_blanks(cell);
  if (text.find(' ') != std::string::npos) {  // 1 234,5: thousands set apart by blanks
    const std::string_view whole = std::string_view(text).substr(0, text.find_first_of(".,"));
    if (!are_thousands(whole.substr(whole.starts_with('-') ? 1 : 0), ' '))
      throw Error(quoted_text(cell) + " is no number");
    const std::string fraction = text.substr(whole.size());
    std::string joined = without(whole, ' ') + fraction;
    std::ranges::replace(joined, ',', '.');
    if (!fraction.empty()) mark = fraction.front() == ',' ? DecimalMark::kComma : DecimalMark::kPoint;
    return plain_number(joined, cell);
  }
  const std::size_t comma = text.rfind(','), point = text.rfind('.');
  if (comma == std::string::npos && point == std::string::npos) return plain_number(text, cell);
  if (comma == std::string::npos || point == std::string::npos) {
    if (text.find_first_of("eE") != std::string::npos) return plain_number(text, cell);
    return number_of_one_mark(text, cell, comma == std::string::npos ? '.' : ',', mark);
  }
  // With both marks the last one is the decimal mark and must occur once.
  const char decimal = comma > point ? ',' : '.', thousands = comma > point ? '.' : ',';
  const std::size_t last = std::max(comma, point);
  const std::string_view whole = std::string_view(text).substr(0, last);
  if (whole.find(decimal) != std::string::npos ||
      !are_thousands(whole.substr(whole.starts_with('-') ? 1 : 0), thousands)) {
    throw Error(quoted_text(cell) + " is no number");
  }
  mark = decimal == ',' ? DecimalMark::kComma : DecimalMark::kPoint;
  return plain_number(without(whole, thousands) + "." + text.substr(last + 1), cell);
}

std::string take_unit_off(std::string& cell) {
  const std::size_t last = cell.find_last_of(kDigits);
  if (last == std::string::npos || last + 1 == cell.size()) return "";
  const std::string unit(trimmed(std::string_view(cell).substr(last + 1)));
  if (unit == "." || unit == ",") return "";
  cell.resize(last + 1);
  return unit;
}

std::optional<double> csv_time(const std::string& cell) {
  constexpr double kMilliseconds = 1e11;
  std::string number = cell;
  if (std::ranges::count(number, ',') == 1 && number.find('.') == std::string::npos) {
    std::ranges::replace(number, ',', '.');
  }
  if (const auto seconds = to_number<double>(number)) return *seconds > kMilliseconds ? *seconds / 1000 : *seconds;
  tm parts{};
  const char* rest = nullptr;
  for (const char* date : {"%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y"}) {
    parts = {};
    rest = strptime(cell.c_str(), date, &parts);
    constexpr int kFirstYear = 70;  // years since 1900; two-digit years are ambiguous
    if (rest != nullptr && parts.tm_year >= kFirstYear) break;
    rest = nullptr;
  }
  if (rest == nullptr) return std::nullopt;
  rest += rest[0] == ',' ? 1 : 0;  // 24.11.2026, 22:12:22
  if (*rest != 'T' && *rest != ' ') return std::nullopt;
  rest = strptime(rest + 1, "%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  std::string fraction(rest), zone;
  const std::size_t end = std::min(fraction.find_first_not_of(kDigits, 1), fraction.size());
  double part = 0;
  if (fraction.starts_with('.') || fraction.starts_with(',')) {
    part = to_number<double>("0." + fraction.substr(1, end - 1)).value_or(0);
    fraction.erase(0, end);
  }
  std::ranges::transform(fraction, std::back_inserter(zone), [](unsigned char c) { return std::toupper(c); });
  if (zone.find("AM") != std::string::npos || zone.find("PM") != std::string::npos) return std::nullopt;
  return static_cast<double>(timegm(&parts)) + part;
}

}  // namespace evener::measure
