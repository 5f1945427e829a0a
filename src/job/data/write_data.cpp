#include "job/data/write_data.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "data/open/open_data.h"
#include "data/open/pack.h"
#include "data/write_folder.h"
#include "job/data/reading_flow.h"
#include "job/options/data_flags.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

void tell_skipped(const data::OpenedData& opened, Observer& observer) {
  for (const data::Skipped& file : opened.skipped) {
    observer.note("skipped " + one_line(file.file) + ": " + one_line(file.reason));
  }
  for (const std::string& note : opened.notes) observer.note("note: " + one_line(note));
}

WrittenData summary_of(const data::OpenedData& opened, const std::string& path, double seconds) {
  return {.path = path,
          .images = opened.dataset->size(),
          .shape = opened.dataset->shape(),
          .classes = opened.dataset->classes().size(),
          .seconds = seconds};
}

}  // namespace

void PackFlags::check_together() const {
  if (is_folder()) {
    data::parse_box_format(*format);
    return;
  }
  if (std::filesystem::path(*out).extension() == ".safetensors") return;
  throw UsageError("--out '" + *out + "' has to end in .safetensors: by that name --data knows a packed file");
}

data::DataOptions SynthFlags::data_options() const {
  data::DataOptions options;
  options.location = "synth:" + *kind + (*count ? ":" + std::to_string(**count) : "");
  set_size(*size, options);
  options.seed = *seed;
  options.threads = threads->value_or(usable_cores());
  options.cache_limit_bytes = 1;  // every image is written once
  return options;
}

WrittenData pack_data(const PackFlags& flags, Observer& observer) {
  const fs::path out = *flags.out;
  if (!flags.is_folder() && fs::exists(out) && !*flags.overwrite) {
    throw UsageError("'" + *flags.out + "' exists; choose another name, or replace it with --overwrite");
  }
  data::DataOptions options = flags.source.whole_data_options();
  if (!flags.is_folder()) {
    options.before_decoding = [&out](std::size_t images, const data::ImageShape& shape) {
      data::require_room_for_pack(images, shape, out);
    };
  }
  parallel::FlowReport reading;
  read_by_flow(options, reading);
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  tell_skipped(opened, observer);
  if (const std::string text = reading_text(reading); !text.empty()) observer.note("read " + text);
  if (flags.is_folder()) {
    data::write_box_folder(*opened.dataset, opened.split, out, data::parse_box_format(*flags.format), options.threads);
  } else {
    data::write_packed(opened, *flags.source.location, out, options.threads);
  }
  return summary_of(opened, *flags.out, watch.seconds());
}

WrittenData draw_data(const SynthFlags& flags) {
  const data::DataOptions options = flags.data_options();
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  if (opened.dataset->target_kind() == data::TargetKind::kBoxes) {
    data::write_box_folder(*opened.dataset, opened.split, *flags.out, data::parse_box_format(*flags.format),
                           options.threads);
  } else {
    data::write_image_folder(*opened.dataset, *flags.out, options.threads);
  }
  return summary_of(opened, *flags.out, watch.seconds());
}

}  // namespace evener::job
