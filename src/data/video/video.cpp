#include "data/video/video.h"

#include "base/error.h"
#include "base/module.h"

namespace evener::data {

// Created once and never destroyed, since its code may run until the end of the process.
VideoCodecs& video_codecs() {
  static VideoCodecs* const instance = [] {
    const ModuleStatus status = module_status("video");
    if (status.state == ModuleState::kNotBuilt) {
      throw Error(
          "evener was built without the module that reads videos: install libavformat-dev, libavcodec-dev, "
          "libswscale-dev and libavutil-dev, and build it again ('./evener setup'); or extract frames with ffmpeg");
    }
    return static_cast<VideoCodecs*>(require_module("video").create());
  }();
  return *instance;
}

}  // namespace evener::data
