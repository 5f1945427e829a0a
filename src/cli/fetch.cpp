// evener data fetch: downloads data sets and weights.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "data/fetch/fetch_set.h"
#include "job/progress.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMirrorVariable = "EVENER_FETCH_FROM";

struct FetchFlags : job::OptionGroup {
  FetchFlags() : job::OptionGroup("Download") {}

  job::Option<std::vector<std::string>> names{*this, {"NAME", "NAME", "What to download (--list shows all)"}};
  job::Option<std::string> out{*this, {"--out", "DIR", "Folder in which each NAME gets a folder of its own"}, "data"};
  job::Option<bool> list{*this, {"--list", "", "Show what there is, with sizes and licences"}};
};

/// Bytes and speed of the file under way. Where it can't be redrawn, a file of less than two seconds is not talked of.
class FetchProgressLine {
 public:
  explicit FetchProgressLine(ProgressLine& line) : line_(line) {}

  void update(const data::FetchProgress& progress) {
    const double now = now_s();
    if (progress.what != what_ || progress.file != file_ || progress.done_bytes < begin_bytes_) begin(progress, now);
    constexpr double kRedraw_s = 0.2, kLine_s = 10;
    if (now - last_shown_s_ < (line_.redraws() ? kRedraw_s : kLine_s)) return;
    last_shown_s_ = now;
    line_.show(text_of(progress, now - begin_s_));
  }

 private:
  void begin(const data::FetchProgress& progress, double now) {
    constexpr double kFirst_s = 2, kLine_s = 10;
    what_ = progress.what;
    file_ = progress.file;
    begin_s_ = now;
    begin_bytes_ = progress.done_bytes;  // what was there from before says nothing about the speed
    last_shown_s_ = line_.redraws() ? 0 : now + kFirst_s - kLine_s;
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
                              job::time_left_text(left / bytes_per_s));
  }

  ProgressLine& line_;
  std::string what_, file_;
  double begin_s_ = 0, last_shown_s_ = 0;
  std::uint64_t begin_bytes_ = 0;
};

std::string size_text(const data::CatalogueEntry& entry) {
  for (const data::CatalogueFile& file : entry.files) {
    if (!file.bytes) return "?";
  }
  return bytes_text(data::final_bytes(entry));
}

void print_list() {
  std::size_t width = 4;
  for (const auto& entry : data::fetch_catalogue()) width = std::max(width, entry.name.size());
  fmt::print("{:<{}}  {:>8}  {:<20} {}\n", "NAME", width, "SIZE", "LICENCE", "WHAT IT IS");
  for (const auto& entry : data::fetch_catalogue()) {
    fmt::print("{:<{}}  {:>8}  {:<20} {}\n", entry.name, width, size_text(entry), entry.licence, entry.what);
  }
}

std::string mirror() {
  const char* value = std::getenv(kMirrorVariable);
  const std::string address = value ? value : "";
  if (address.empty() || address.starts_with("http://") || address.starts_with("https://")) return address;
  throw UsageError(
      fmt::format("the environment variable {} is '{}'; it has to be an address that begins with http:// or "
                  "https://, below which the files lie as NAME/FILE",
                  kMirrorVariable, address));
}

std::string use_text(const data::CatalogueEntry& entry, const std::string& folder) {
  std::string text = entry.use;
  const auto hole = text.find("{}");
  return hole == std::string::npos ? text : text.replace(hole, 2, folder);
}

/// What to do where nothing can be downloaded, beside what is said of the file: of a mirror, and where all files
/// belong.
std::string by_hand_text(const data::CatalogueEntry& entry, const std::string& folder) {
  std::string text = fmt::format("\n  {}=ADDRESS takes the files from a mirror, where they lie as ADDRESS/{}/FILE",
                                 kMirrorVariable, entry.name);
  if (entry.files.size() == 1) return text;
  text += fmt::format("\n  all files of {}, and where they belong:", entry.name);
  for (const data::CatalogueFile& file : entry.files) {
    text += fmt::format("\n    {}  is  {}", (fs::path(folder) / file.name).string(), file.urls.front());
  }
  return text;
}

void fetch_one(const data::CatalogueEntry& entry, const std::string& out, const std::string& from) {
  const std::string folder = (fs::path(out) / entry.name).string();
  ProgressLine line(false);
  FetchProgressLine progress(line);
  data::FetchListener listener;
  listener.progress = [&](const data::FetchProgress& state) { progress.update(state); };
  listener.note = [&](const std::string& text) { line.note(text); };
  bool fetched = false;
  try {
    fetched = data::fetch_set(entry, folder, from, listener);
  } catch (const data::DownloadFailed& failure) {
    line.finish();
    throw Error(failure.what() + by_hand_text(entry, folder));
  } catch (...) {
    line.finish();
    throw;
  }
  line.finish();
  fmt::print("{} is in {}{}; {}\n  {}\n", entry.name, folder, fetched ? "" : " already", data::checksums_text(entry),
             use_text(entry, folder));
  std::fflush(stdout);  // several take long
}

int run_fetch(const FetchFlags& flags) {
  if (*flags.list) {
    print_list();
    return 0;
  }
  if (flags.names->empty()) throw UsageError("which data set? Give a NAME; 'evener data fetch --list' shows them");
  std::vector<const data::CatalogueEntry*> entries;
  for (const std::string& name : *flags.names) entries.push_back(&data::catalogue_entry(name));
  const std::string from = mirror();
  for (const data::CatalogueEntry* entry : entries) fetch_one(*entry, *flags.out, from);
  return 0;
}

}  // namespace

Command data_fetch_command() {
  const auto flags = std::make_shared<FetchFlags>();
  return {
      .name = "fetch",
      .summary = "Download data sets and weights; goes on after a break",
      .options = {flags.get()},
      .footer =
          "EVENER_FETCH_FROM=https://mirror.example/ takes the files from https://mirror.example/NAME/FILE instead.\n"
          "Proxies are taken from https_proxy and no_proxy.\n\n"
          "Examples:\n"
          "  evener data fetch --list\n"
          "  evener data fetch mnist cifar10\n"
          "  evener data fetch resnet18-imagenet --out weights\n",
      .run = [flags] { return run_fetch(*flags); }};
}

}  // namespace evener::cli
