// evener data fetch: downloads data sets and weights.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "data/fetch/catalogue.h"
#include "infer/model/published_weights.h"
#include "options/command.h"
#include "options/option.h"
#include "options/progress_line.h"

namespace evener::app {
namespace {

namespace fs = std::filesystem;

struct FetchFlags : OptionGroup {
  FetchFlags() : OptionGroup("Download") {}

  Option<std::vector<std::string>> names{*this, "NAME NAME", "What to download (--list shows all)"};
  Option<std::string> out{*this, "--out DIR", "data", "Folder in which each NAME gets a folder of its own"};
  Option<bool> list{*this, "--list", "Show what there is, with sizes and licences"};
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

std::string use_text(const data::CatalogueEntry& entry, const std::string& folder) {
  std::string text = entry.use;
  const auto hole = text.find("{}");
  return hole == std::string::npos ? text : text.replace(hole, 2, folder);
}

void fetch_one(const data::CatalogueEntry& entry, const std::string& out, const std::string& from) {
  const std::string folder = (fs::path(out) / entry.name).string();
  ProgressLine line(/*quiet=*/false);
  const bool fetched = inference::fetch_entry(entry, folder, from, line);
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
  const std::string from = inference::fetch_mirror();
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

}  // namespace evener::app
