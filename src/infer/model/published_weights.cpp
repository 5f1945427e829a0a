#include "infer/model/published_weights.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "infer/model/cache_folder.h"
#include "infer/model/trained_model.h"
#include "measure/run/progress.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

constexpr double kNextLine_s = 10;  // where lines stay

constexpr const char* kMirrorVariable = "EVENER_FETCH_FROM";

/// Bytes and speed of the file under way. Where it can't be redrawn, a file of less than two seconds is not talked of.
class FetchProgressLine {
 public:
  explicit FetchProgressLine(measure::Observer& line) : line_(line) {}

  void update(const data::FetchProgress& progress) {
    const double now = now_s();
    if (progress.what != what_ || progress.file != file_ || progress.done_bytes < begin_bytes_) begin(progress, now);
    if (!pace_.is_due(line_, kNextLine_s)) return;
    line_.show(text_of(progress, now - begin_s_));
  }

 private:
  void begin(const data::FetchProgress& progress, double now) {
    constexpr double kFirst_s = 2;
    what_ = progress.what;
    file_ = progress.file;
    begin_s_ = now;
    begin_bytes_ = progress.done_bytes;  // what was there from before says nothing about the speed
    pace_ = measure::RedrawPace(line_.redraws() ? 0 : now + kFirst_s - kNextLine_s);
  }

  std::string text_of(const data::FetchProgress& progress, double seconds) const {
    const double bytes_per_s = static_cast<double>(progress.done_bytes - begin_bytes_) / std::max(seconds, 1e-9);
    std::string text = fmt::format("{} {}", what_, file_);
    if (!progress.total_bytes || *progress.total_bytes == 0) return text + "  " + bytes_text(progress.done_bytes);
    const double left = static_cast<double>(*progress.total_bytes - progress.done_bytes);
    text += fmt::format("  {:3.0f} %  {} of {}", 100 * (1 - left / static_cast<double>(*progress.total_bytes)),
                        bytes_text(progress.done_bytes), bytes_text(*progress.total_bytes));
    if (bytes_per_s < 1) return text;
    return text + fmt::format("  {}/s  {} left", bytes_text(static_cast<std::uint64_t>(bytes_per_s)),
                              measure::time_left_text(left / bytes_per_s));
  }

  measure::Observer& line_;
  std::string what_, file_;
  double begin_s_ = 0;
  measure::RedrawPace pace_;
  std::uint64_t begin_bytes_ = 0;
};

/// Advice where a download is impossible: how to use a mirror, and where to put the files by hand.
std::string by_hand_text(const data::CatalogueEntry& entry, const std::string& folder) {
  std::string text = fmt::format("\n  {}=ADDRESS takes the files from a mirror, where they lie as ADDRESS/{}/FILE",
                                 kMirrorVariable, entry.name);
  text += fmt::format("\n  licence: {}", entry.licence);
  if (entry.files.size() == 1) return text;
  text += fmt::format("\n  all files of {}, and where they belong:", entry.name);
  for (const data::CatalogueFile& file : entry.files) {
    text += fmt::format("\n    {}  is  {}", (fs::path(folder) / file.name).string(), file.urls.front());
  }
  return text;
}

}  // namespace

std::string fetch_mirror() {
  const char* value = std::getenv(kMirrorVariable);
  const std::string address = value ? value : "";
  if (address.empty() || address.starts_with("http://") || address.starts_with("https://")) return address;
  throw UsageError(
      fmt::format("the environment variable {} is '{}'; it has to be an address that begins with http:// or https://, "
                  "below which the files lie as NAME/FILE",
                  kMirrorVariable, address));
}

bool fetch_entry(const data::CatalogueEntry& entry, const std::string& folder, const std::string& from,
                 measure::Observer& line) {
  FetchProgressLine progress(line);
  data::FetchListener listener;
  listener.progress = [&](const data::FetchProgress& state) { progress.update(state); };
  listener.note = [&](const std::string& text) { line.note(text); };
  try {
    const bool fetched = data::fetch_set(entry, folder, from, listener);
    line.finish();
    return fetched;
  } catch (const data::DownloadFailed& failure) {
    line.finish();
    throw Error(failure.what() + by_hand_text(entry, folder));
  } catch (...) {
    line.finish();
    throw;
  }
}

bool take_published(Option<std::string>& option, const std::string& word, const std::string& model, bool as_folder,
                    measure::Observer* observer) {
  const auto named = named_weights(word, model);
  if (!named) return false;
  const std::string place = (as_folder ? named->folder : named->file).string();
  if (observer != nullptr) {
    const bool fetched = fetch_entry(*named->entry, named->folder.string(), fetch_mirror(), *observer);
    observer->note(fmt::format("{} {}: {}{}; licence: {}", option.name(), word, place, fetched ? ", downloaded" : "",
                               named->entry->licence));
  }
  option.read({place});
  return true;
}

void take_weights(Option<std::string>& weights, Option<std::string>* normalize, const std::string& model,
                  measure::Observer* observer) {
  if (std::error_code none; !weights->empty() && fs::is_directory(*weights, none)) {
    weights.read({weights_in(*weights).string()});
  } else if (take_published(weights, std::string(*weights), model, /*as_folder=*/false, observer)) {
    if (normalize != nullptr && !normalize->given()) normalize->read({"imagenet"});
  }
}

}  // namespace evener::inference
