#include "train/labels/label_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "base/cpu.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"
#include "data/each_index.h"
#include "data/resize.h"
#include "data/sort_folder.h"
#include "detect/page/pictures_page.h"
#include "measure/run/progress.h"
#include "report/format.h"

namespace evener::training {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRows = 20, kMostPairs = 10, kMostOnPage = 1000;
constexpr std::int64_t kCardSide = 260, kTinySide = 96;  // pixels
constexpr int kCardQuality = 82;

struct Kind {
  const char *name, *colour;
};
/// In the order of LabelDoubt.
constexpr std::array<Kind, 4> kKinds = {
    {{"wrong", "#d55e00"}, {"likely", "#e69f00"}, {"both", "#0072b2"}, {"neither", "#5b6b7b"}}};

const char* kind_name(const LabelFinding& finding) {
  return kKinds[static_cast<std::size_t>(finding.kind)].name;
}

std::size_t count_of(const LabelFindings& findings, LabelDoubt kind) {
  return static_cast<std::size_t>(std::ranges::count(findings.found, kind, &LabelFinding::kind));
}

double estimated_share(const LabelFindings& findings) {
  return findings.images > 0 ? findings.estimated / static_cast<double>(findings.images) : 0;
}

/// How many labels look wrong, and by what they were judged.
std::array<std::string, 2> label_sentences(const LabelFindings& findings) {
  const std::size_t wrong = count_of(findings, LabelDoubt::kWrong), likely = count_of(findings, LabelDoubt::kLikely),
                    both = count_of(findings, LabelDoubt::kBoth), neither = count_of(findings, LabelDoubt::kNeither);
  std::string text = fmt::format("{} of {} labels look wrong{}; {:.0f} ({:.1f} %) are estimated to be", wrong,
                                 findings.images, likely > 0 ? fmt::format(", and {} may well be", likely) : "",
                                 findings.estimated, 100 * estimated_share(findings));
  if (both > 0) text += fmt::format("; {} {} like both classes", both, both == 1 ? "looks" : "look");
  if (neither > 0) text += fmt::format("; {} {} like none", neither, neither == 1 ? "looks" : "look");
  return {text + ".", "Judged by " + findings.judged_by + "."};
}

/// A table with columns as wide as their longest cell.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], report::display_width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) line += std::string(widths[c] - report::display_width(row[c]) + 2, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string name_cell(const std::string& name) {
  return name.empty() ? "-" : one_line(to_utf8_text(name));
}

std::vector<std::vector<std::string>> label_rows(const LabelFindings& findings) {
  std::vector<std::vector<std::string>> rows = {{"score", "kind", "label", "looks like", "P", "P of label", "file"}};
  for (const LabelFinding& one : findings.found) {
    if (rows.size() > kMostRows) break;
    rows.push_back({fmt::format("{:.2f}", one.score), kind_name(one), name_cell(one.label), name_cell(one.suggested),
                    fmt::format("{:.2f}", one.probability), fmt::format("{:.2f}", one.label_probability),
                    one_line(to_utf8_text(one.file))});
  }
  return rows;
}

std::vector<std::vector<std::string>> pair_rows(const LabelFindings& findings) {
  std::vector<std::vector<std::string>> rows = {{"label", "looks like", "found", "estimated", "of the label"}};
  for (const LabelPair& pair : findings.pairs) {
    if (rows.size() > kMostPairs) break;
    rows.push_back({name_cell(pair.label), name_cell(pair.suggested), std::to_string(pair.found),
                    fmt::format("{:.0f}", pair.estimated), fmt::format("{:.1f} %", 100 * pair.share)});
  }
  return rows;
}

std::string labels_csv(const LabelFindings& findings) {
  std::string text = "file,label,suggested,probability,label_probability,score,kind,part\n";
  for (const LabelFinding& one : findings.found) {
    text += fmt::format("{},{},{},{:.4f},{:.4f},{:.4f},{},{}\n", csv_cell(one.file), csv_cell(one.label),
                        csv_cell(one.suggested), one.probability, one.label_probability, one.score, kind_name(one),
                        one.part);
  }
  return text;
}

/// The picture's path for a page in `folder`, which may be moved with the pictures; "" where it has no file.
std::string path_from(const fs::path& folder, const std::string& picture) {
  std::error_code none;
  if (!fs::is_regular_file(picture, none)) return "";
  const fs::path target = fs::absolute(picture).lexically_normal();
  return target.lexically_relative(fs::absolute(folder).lexically_normal()).string();
}

/// The picture, reduced to what a card shows, as an address that holds it.
std::string small_address(data::Picture picture) {
  const std::int64_t longer = std::max(picture.width, picture.height);
  if (longer <= kTinySide) {  // pixels that JPEG would blur
    const data::ImageShape shape{picture.channels, picture.height, picture.width};
    std::vector<std::uint8_t> planes(shape.bytes());
    data::write_planes(picture, picture.channels, planes);
    return "data:image/png;base64," + to_base64(data::encode_png(shape, planes));
  }
  const double scale = std::min(1.0, static_cast<double>(kCardSide) / static_cast<double>(longer));
  const auto extent = [&](std::int64_t of) {
    return std::max<std::int64_t>(1, std::llround(scale * static_cast<double>(of)));
  };
  const std::int64_t height = extent(picture.height), width = extent(picture.width);
  return "data:image/jpeg;base64," +
         to_base64(data::encode_jpeg(data::resize(std::move(picture), height, width), kCardQuality));
}

detection::PictureOnPage on_labels_page(const LabelFinding& finding, data::Picture picture, const fs::path& folder) {
  detection::PictureOnPage shown{
      .file = to_utf8_text(finding.file),
      .picture = path_from(folder, finding.file),
      .small = {},
      .width = picture.width,
      .height = picture.height,
      .boxes = {{.label = static_cast<std::int32_t>(finding.kind), .score = finding.score}},
      .told = fmt::format("labelled {} ({:.0f} %), looks like {} ({:.0f} %){}", to_utf8_text(finding.label),
                          100 * finding.label_probability, to_utf8_text(finding.suggested), 100 * finding.probability,
                          finding.part.empty() ? "" : "; " + finding.part)};
  shown.small = small_address(std::move(picture));
  return shown;
}

detection::PicturesPage page_of_labels(LabelFindings& findings, const fs::path& folder, measure::Observer& observer) {
  detection::PicturesPage page{.title = "Labels that look wrong: " + to_utf8_text(findings.location),
                               .noun = "label",
                               .notes = findings.notes,
                               .classes = {},
                               .pictures = {}};
  for (const std::string& sentence : label_sentences(findings)) page.notes.push_back(sentence);
  for (const Kind& kind : kKinds) page.classes.push_back({kind.name, kind.colour});
  page.pictures.resize(std::min(kMostOnPage, findings.found.size()));
  if (page.pictures.size() < findings.found.size()) {
    page.notes.push_back(fmt::format("The page shows the worst {} of {}; labels.csv has all.", page.pictures.size(),
                                     findings.found.size()));
  }
  std::mutex mutex;
  measure::LoadingProgress progress(observer);
  data::for_each_index(
      page.pictures.size(), usable_cores(),
      [&](std::size_t i) {
        const LabelFinding& finding = findings.found[i];
        try {
          page.pictures[i] = on_labels_page(finding, findings.picture(finding.index), folder);
        } catch (const Interrupted&) {
          throw;
        } catch (const Error& error) {
          const std::lock_guard lock(mutex);
          findings.skipped.push_back({finding.file, error.what()});
        }
      },
      [&](std::size_t done, std::size_t of) { progress.update("writing pictures", done, of); });
  observer.finish();
  std::erase_if(page.pictures, [](const detection::PictureOnPage& picture) { return picture.small.empty(); });
  return page;
}

}  // namespace

std::string labels_text(const LabelFindings& findings) {
  std::string text;
  if (!findings.found.empty()) text += table_text(label_rows(findings));
  if (findings.found.size() > kMostRows) text += fmt::format("and {} more\n", findings.found.size() - kMostRows);
  if (!findings.pairs.empty()) text += "\n" + table_text(pair_rows(findings));
  if (findings.pairs.size() > kMostPairs) text += fmt::format("and {} more\n", findings.pairs.size() - kMostPairs);
  if (!text.empty()) text += "\n";
  for (const std::string& sentence : label_sentences(findings)) text += sentence + "\n";
  return text;
}

nlohmann::ordered_json labels_json(const LabelFindings& findings) {
  using Json = nlohmann::ordered_json;
  Json kinds = Json::object();
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    kinds[kKinds[k].name] = count_of(findings, static_cast<LabelDoubt>(k));
  }
  Json pairs = Json::array();
  for (const LabelPair& pair : findings.pairs) {
    pairs.push_back({{"label", pair.label},
                     {"suggested", pair.suggested},
                     {"found", pair.found},
                     {"estimated", pair.estimated},
                     {"share", pair.share}});
  }
  return {{"schema", 1},
          {"kind", "data labels"},
          {"location", findings.location},
          {"images", findings.images},
          {"labels", findings.images},
          {"found", std::move(kinds)},
          {"judged_by", findings.judged_by},
          {"notes", findings.notes},
          {"skipped", findings.skipped.size()},
          {"estimated", findings.estimated},
          {"share", estimated_share(findings)},
          {"accuracy", findings.accuracy},
          {"pairs", std::move(pairs)}};
}

void require_place_for_labels(const fs::path& folder, bool overwrite) {
  data::require_writable_place("--out", folder);
  for (const char* file : {kLabelsTable, kLabelsPage}) {
    if (overwrite || !fs::exists(folder / file)) continue;
    throw UsageError(fmt::format("'{}' is there already: give another --out, or --overwrite to replace it",
                                 (folder / file).string()));
  }
}

void write_label_files(LabelFindings& findings, const fs::path& folder, measure::Observer& observer) {
  fs::create_directories(folder);
  write_file_atomically(folder / kLabelsTable, labels_csv(findings));
  write_file_atomically(folder / kLabelsPage, detection::pictures_html(page_of_labels(findings, folder, observer)));
}

}  // namespace evener::training
