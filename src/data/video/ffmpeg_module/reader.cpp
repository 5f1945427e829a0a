#include "data/video/ffmpeg_module/reader.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/stop.h"
#include "data/codecs/decode.h"
#include "data/codecs/exif.h"

namespace evener::data::video_module {
namespace {

constexpr double kAssumedRate = 25;  // frames a second, where neither times nor a rate are told

class DecodedFrame : public VideoFrame {
 public:
  DecodedFrame(Frame frame, const FramePlace& place, int orientation, std::shared_ptr<ToRgb> to_rgb)
      : frame_(std::move(frame)), place_(place), orientation_(orientation), to_rgb_(std::move(to_rgb)) {}

  FramePlace place() const override { return place_; }
  Picture picture() const override { return turn_upright(to_rgb_->convert(*frame_), orientation_); }

 private:
  const Frame frame_;
  const FramePlace place_;
  const int orientation_;
  const std::shared_ptr<ToRgb> to_rgb_;
};

/// A packet's times.
struct Stamp {
  std::int64_t shown = 0, decoded = 0;
  bool is_key = false;
};

/// The frames in the order in which they are shown. Where times are missing or not distinct, frames are known by their
/// number, and have the times at which they are decoded, which are as far from each other.
VideoIndex sorted_index(std::vector<Stamp> stamps, const FileInput& input) {
  VideoIndex index{.frames = {}, .rate = input.rate(), .broken_off = input.broken_off()};
  const auto is_missing = [](std::int64_t time) { return time == AV_NOPTS_VALUE; };
  index.has_timestamps = std::ranges::none_of(stamps, is_missing, &Stamp::shown);
  const bool has_decoding_times = std::ranges::none_of(stamps, is_missing, &Stamp::decoded);
  std::ranges::stable_sort(stamps, {}, index.has_timestamps ? &Stamp::shown : &Stamp::decoded);
  if (index.has_timestamps && std::ranges::adjacent_find(stamps, {}, &Stamp::shown) != stamps.end()) {
    index.has_timestamps = false;
    // The i-th frame that is shown has the i-th decoding time then, so that times rise.
    if (has_decoding_times) std::ranges::stable_sort(stamps, {}, &Stamp::decoded);
  }
  const double rate = index.rate > 0 ? index.rate : kAssumedRate;
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const Stamp& stamp = stamps[i];
    if (index.has_timestamps) {
      index.frames.push_back({stamp.shown, input.seconds(stamp.shown), stamp.is_key});
    } else {
      const double time_s = has_decoding_times ? input.seconds(stamp.decoded) - input.seconds(stamps.front().decoded)
                                               : static_cast<double>(i) / rate;
      index.frames.push_back({static_cast<std::int64_t>(i), time_s, i == 0});
    }
  }
  return index;
}

}  // namespace

VideoIndex index_of(const std::filesystem::path& path, const std::function<bool(const VideoIndex&)>& enough) {
  FileInput input(path);
  std::vector<Stamp> stamps;
  const Packet packet = new_packet();
  std::size_t asked_at = 256;
  while (input.read(*packet)) {
    if (stop_requested()) throw Interrupted("stopped while looking at a video");
    if ((packet->flags & AV_PKT_FLAG_DISCARD) == 0) {
      stamps.push_back({packet->pts, packet->dts, (packet->flags & AV_PKT_FLAG_KEY) != 0});
    }
    av_packet_unref(packet.get());
    if (stamps.size() < asked_at) continue;
    asked_at *= 2;
    // Those of the last frames may still come between.
    constexpr std::ptrdiff_t kMostReordered = 64;
    VideoIndex so_far = sorted_index(stamps, input);
    so_far.frames.resize(so_far.frames.size() - kMostReordered);
    if (enough(so_far)) return so_far;
  }
  if (stamps.empty()) {
    throw Error("there is no frame in it" + (input.broken_off().empty() ? "" : ": " + input.broken_off()));
  }
  return sorted_index(std::move(stamps), input);
}

FileReader::FileReader(const std::filesystem::path& path, int threads)
    : input_(path), codec_(avcodec_alloc_context3(&input_.decoder())) {
  if (!codec_) throw std::bad_alloc();
  avcodec_parameters_to_context(codec_.get(), input_.stream().codecpar);
  codec_->pkt_timebase = input_.stream().time_base;
  codec_->max_pixels = kMaxPixels;
  codec_->thread_count = std::max(1, threads);
  // Threads of frames hold several back, which a pipe's reader would wait for.
  codec_->thread_type = input_.is_pipe() ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE;
  forget_message();
  const int code = avcodec_open2(codec_.get(), &input_.decoder(), nullptr);
  if (code < 0) {
    throw Error(std::string("its codec '") + input_.decoder().name + "' can't be opened: " + reason_of(code));
  }
}

FramePlace FileReader::place_of(const AVFrame& frame) {
  const std::int64_t number = decoded_++;
  const std::int64_t timestamp = frame.best_effort_timestamp;
  if (timestamp == AV_NOPTS_VALUE) {
    const double rate = input_.rate() > 0 ? input_.rate() : kAssumedRate;
    return {number, static_cast<double>(number) / rate, false};
  }
  return {timestamp, input_.seconds(timestamp), false};
}

// What a decoder can't use it refuses, and goes on with the next packet.
void FileReader::feed() {
  if (all_read_) return;
  if (!input_.read(*packet_)) {
    all_read_ = true;
    avcodec_send_packet(codec_.get(), nullptr);
    return;
  }
  avcodec_send_packet(codec_.get(), packet_.get());
  av_packet_unref(packet_.get());
}

std::unique_ptr<VideoFrame> FileReader::next() {
  constexpr int kMostFailures = 256;  // in a row, of a decoder that would never go on
  Frame frame = new_frame();
  for (int failures = 0; failures < kMostFailures;) {
    const int code = avcodec_receive_frame(codec_.get(), frame.get());
    if (code == 0) {
      const FramePlace place = place_of(*frame);
      return std::make_unique<DecodedFrame>(std::move(frame), place, input_.orientation(), to_rgb_);
    }
    if (code == AVERROR_EOF) return nullptr;
    if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (code == AVERROR(EAGAIN) && all_read_) return nullptr;
    if (stop_requested()) throw Interrupted("stopped while reading a video");
    // After a failure of one frame the decoder gives the next ones.
    if (code != AVERROR(EAGAIN)) {
      ++failures;
    } else {
      failures = 0;
      feed();
    }
  }
  return nullptr;
}

bool FileReader::seek(const FramePlace& key) {
  if (input_.is_pipe()) return false;
  const int code = av_seek_frame(&input_.format(), input_.stream().index, key.timestamp, AVSEEK_FLAG_BACKWARD);
  if (code < 0) return false;
  avcodec_flush_buffers(codec_.get());
  all_read_ = false;
  return true;
}

}  // namespace evener::data::video_module
