#include "quantize/page.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "base/csv.h"
#include "base/numbers.h"
#include "report/format.h"
#include "report/html_table.h"

namespace evener::quantization {
namespace {

using report::escape_html;
using report::HtmlCell;
using report::HtmlTable;

/// The ratio with a full bar: 8 bits give at best about 50 dB.
constexpr double kFullBar_db = 50;

/// A row for each layer of a layers.csv.
HtmlTable noise_table(const std::filesystem::path& layers) {
  HtmlTable shown{.columns = {{"layer"}, {"computed in"}, {"SQNR", true}}};
  std::ifstream file(layers);
  CsvReader table(file);
  while (table.next()) {
    const std::vector<std::string>& cells = table.cells();  // name, whether quantised, signal to noise
    if (cells.size() != 3) continue;
    HtmlCell noise{.html = "no noise"};
    if (const auto sqnr_db = to_number<double>(cells[2])) {
      noise = {.html = fmt::format("{:.1f} dB", *sqnr_db), .share = *sqnr_db / kFullBar_db};
    }
    shown.rows.push_back({{{escape_html(cells[0])}, {cells[1] == "1" ? "int8" : "float"}, noise}});
  }
  return shown;
}

}  // namespace

report::PagePart layers_part(std::span<report::Run> runs) {
  std::string html;
  for (const report::Run& run : runs) {
    const HtmlTable table = noise_table(run.folder / "layers.csv");
    if (!table.rows.empty()) html += "<h3>" + escape_html(run.name) + "</h3>" + table.html();
  }
  return {.html = report::section_html(
              "Layers",
              "How far each layer's results are from those in float, with all that came before them: signal to "
              "quantisation noise, where more is better.",
              html),
          .is_detail = true};
}

}  // namespace evener::quantization
