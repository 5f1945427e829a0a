#include "job/labels/label_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "base/cpu.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"
#include "data/each_index.h"
#include "data/png_encode.h"
#include "data/resize.h"
#include "job/labels/labels_text.h"
#include "job/progress.h"
#include "job/sort_folder.h"
#include "report/format.h"
#include "report/labels_page.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOnPage = 1000;
constexpr std::int64_t kCardSide = 260, kTinySide = 96;  // pixels
constexpr int kCardQuality = 82;

std::string box_cell(const LabelFinding& finding) {
  const auto& box = finding.found ? finding.found : finding.labelled;
  return box ? fmt::format("{:.1f} {:.1f} {:.1f} {:.1f}", (*box)[0], (*box)[1], (*box)[2], (*box)[3]) : "";
}

/// The picture's address for a page in `folder`, which may be moved with the pictures; "" where it has no file.
std::string link_to(const fs::path& folder, const std::string& picture) {
  std::error_code none;
  if (!fs::is_regular_file(picture, none)) return "";
  const fs::path target = fs::absolute(picture).lexically_normal();
  return report::url_path(target.lexically_relative(fs::absolute(folder).lexically_normal()).string());
}

void take_small(data::Picture picture, report::LabelOnPage& label) {
  label.width = picture.width;
  label.height = picture.height;
  const std::int64_t longer = std::max(picture.width, picture.height);
  if (longer <= kTinySide) {  // pixels that JPEG would blur
    const data::ImageShape shape{picture.channels, picture.height, picture.width};
    std::vector<std::uint8_t> chw(shape.bytes());
    const auto plane = static_cast<std::size_t>(picture.height * picture.width);
    const auto channels = static_cast<std::size_t>(picture.channels);
    for (std::size_t i = 0; i < chw.size(); ++i) chw[i % channels * plane + i / channels] = picture.pixels.get()[i];
    label.small = data::encode_png(shape, chw);
    label.small_type = "image/png";
    return;
  }
  const double scale = std::min(1.0, static_cast<double>(kCardSide) / static_cast<double>(longer));
  const auto extent = [&](std::int64_t of) {
    return std::max<std::int64_t>(1, std::llround(scale * static_cast<double>(of)));
  };
  const std::int64_t height = extent(picture.height), width = extent(picture.width);
  label.small = data::encode_jpeg(data::resize(std::move(picture), height, width), kCardQuality);
  label.small_type = "image/jpeg";
}

report::LabelOnPage on_labels_page(const LabelFinding& finding, const fs::path& folder) {
  return {.file = to_utf8_text(finding.file),
          .label = to_utf8_text(finding.label),
          .suggested = to_utf8_text(finding.suggested),
          .probability = finding.probability,
          .label_probability = finding.label_probability,
          .score = finding.score,
          .kind = finding.kind,
          .part = finding.part,
          .small = {},
          .small_type = {},
          .link = link_to(folder, finding.file),
          .found = finding.found,
          .labelled = finding.labelled};
}

report::LabelsPage page_of_labels(LabelFindings& findings, const fs::path& folder, Observer& observer) {
  report::LabelsPage page{.title = to_utf8_text(findings.location),
                          .summary = label_sentences(findings),
                          .notes = findings.notes,
                          .labels = {},
                          .all = findings.found.size(),
                          .has_boxes = findings.has_boxes};
  page.labels.resize(std::min(kMostOnPage, findings.found.size()));
  std::mutex mutex;
  LoadingProgress progress(observer);
  data::for_each_index(
      page.labels.size(), usable_cores(),
      [&](std::size_t i) {
        page.labels[i] = on_labels_page(findings.found[i], folder);
        try {
          take_small(findings.picture(findings.found[i].index), page.labels[i]);
        } catch (const Interrupted&) {
          throw;
        } catch (const Error& error) {
          const std::lock_guard lock(mutex);
          findings.skipped.push_back({findings.found[i].file, error.what()});
        }
      },
      [&](std::size_t done, std::size_t of) { progress.update("writing pictures", done, of); });
  observer.finish();
  std::erase_if(page.labels, [](const report::LabelOnPage& label) { return label.small.empty(); });
  return page;
}

}  // namespace

void require_place_for_labels(const fs::path& folder, bool overwrite) {
  require_writable_place(folder);
  for (const char* file : {kLabelsTable, kLabelsPage}) {
    if (overwrite || !fs::exists(folder / file)) continue;
    throw UsageError(fmt::format("'{}' is there already: give another --out, or --overwrite to replace it",
                                 (folder / file).string()));
  }
}

std::string labels_csv(const LabelFindings& findings) {
  std::string text = "file,label,suggested,probability,label_probability,score,kind,part";
  text += findings.has_boxes ? ",box\n" : "\n";
  for (const LabelFinding& one : findings.found) {
    text += fmt::format("{},{},{},{:.4f},{:.4f},{:.4f},{},{}", csv_cell(one.file), csv_cell(one.label),
                        csv_cell(one.suggested), one.probability, one.label_probability, one.score, one.kind, one.part);
    text += findings.has_boxes ? "," + box_cell(one) + "\n" : "\n";
  }
  return text;
}

void write_label_files(LabelFindings& findings, const fs::path& folder, Observer& observer) {
  fs::create_directories(folder);
  write_file_atomically(folder / kLabelsTable, labels_csv(findings));
  write_file_atomically(folder / kLabelsPage, report::labels_html(page_of_labels(findings, folder, observer)));
}

}  // namespace evener::job
