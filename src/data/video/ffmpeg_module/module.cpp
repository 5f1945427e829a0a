// The module's door: the factory function that base/module.h looks for, and the VideoCodecs behind it.
#include "base/module_entry.h"
#include "data/video/ffmpeg_module/reader.h"
#include "data/video/ffmpeg_module/writer.h"

namespace evener::data::video_module {
namespace {

class Ffmpeg : public VideoCodecs {
 public:
  Ffmpeg() { catch_messages(); }

  VideoIndex index(const std::filesystem::path& path,
                   const std::function<bool(const VideoIndex&)>& enough) const override {
    return index_of(path, enough);
  }
  std::unique_ptr<VideoReader> open(const std::filesystem::path& path, int threads) const override {
    return std::make_unique<FileReader>(path, threads);
  }
  std::unique_ptr<VideoWriter> create(const std::filesystem::path& path, const VideoFormat& format) const override {
    return std::make_unique<FileWriter>(path, format);
  }
};

const char* version() {
  static const std::string text = std::string("FFmpeg ") + av_version_info();
  return text.c_str();
}

}  // namespace
}  // namespace evener::data::video_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::data::VideoCodecs, evener::data::video_module::Ffmpeg>(
        evener::data::video_module::version);
}
