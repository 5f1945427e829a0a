#include "data/video/ffmpeg_module/pixels.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"

namespace evener::data::video_module {
namespace {

/// In a frame's fields as FFmpeg gives them, those on which a conversion depends.
struct Layout {
  int width = 0, height = 0, format = 0;
  int matrix = 0;  // as sws_getCoefficients() numbers them
  bool full_range = false;
  bool operator==(const Layout&) const = default;
};

Layout layout_of(const AVFrame& frame) {
  const int space = frame.colorspace;
  const bool is_known = space >= 1 && space <= 10 && space != 8;  // 2: not told
  return {frame.width, frame.height, frame.format, is_known && space != 2 ? space : SWS_CS_DEFAULT,
          frame.color_range == AVCOL_RANGE_JPEG};
}

Frame frame_with_room(int width, int height, AVPixelFormat format) {
  Frame frame = new_frame();
  frame->width = width;
  frame->height = height;
  frame->format = format;
  if (av_frame_get_buffer(frame.get(), 0) < 0) throw std::bad_alloc();
  return frame;
}

/// A scaler that changes pixels' format and not their number.
Scaler scaler_for(const Layout& from, AVPixelFormat to) {
  Scaler scaler(sws_alloc_context());
  if (!scaler) throw std::bad_alloc();
  SwsContext* const options = scaler.get();
  av_opt_set_int(options, "srcw", from.width, 0);
  av_opt_set_int(options, "srch", from.height, 0);
  av_opt_set_int(options, "src_format", from.format, 0);
  av_opt_set_int(options, "dstw", from.width, 0);
  av_opt_set_int(options, "dsth", from.height, 0);
  av_opt_set_int(options, "dst_format", to, 0);
  av_opt_set_int(options, "sws_flags", SWS_BICUBIC, 0);
  if (from.format == AV_PIX_FMT_YUV420P) av_opt_set_int(options, "src_v_chr_pos", 128, 0);
  if (to == AV_PIX_FMT_YUV420P) av_opt_set_int(options, "dst_v_chr_pos", 128, 0);
  const int* const table = sws_getCoefficients(from.matrix);
  constexpr int kOne = 1 << 16;
  sws_setColorspaceDetails(options, table, from.full_range ? 1 : 0, table, 0, 0, kOne, kOne);
  if (sws_init_context(options, nullptr, nullptr) < 0) {
    const char* const name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(from.format));
    throw Error(std::string("its pixels (") + (name != nullptr ? name : "of no known format") +
                ") can't be converted to RGB");
  }
  return scaler;
}

}  // namespace

struct ToRgb::Lane {
  explicit Lane(const Layout& from)
      : layout(from),
        scaler(scaler_for(from, AV_PIX_FMT_RGB24)),
        rgb(frame_with_room(from.width, from.height, AV_PIX_FMT_RGB24)) {}

  Layout layout;
  Scaler scaler;
  Frame rgb;  // its rows have room behind them, which swscale may write
};

ToRgb::ToRgb() = default;
ToRgb::~ToRgb() = default;

std::unique_ptr<ToRgb::Lane> ToRgb::take(const AVFrame& frame) {
  const Layout layout = layout_of(frame);
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(free_, [&](const auto& lane) { return lane->layout != layout; });
    if (!free_.empty()) {
      std::unique_ptr<Lane> lane = std::move(free_.back());
      free_.pop_back();
      return lane;
    }
  }
  return std::make_unique<Lane>(layout);
}

Picture ToRgb::convert(const AVFrame& frame) {
  std::unique_ptr<Lane> lane = take(frame);
  const int rows =
      sws_scale(lane->scaler.get(), frame.data, frame.linesize, 0, frame.height, lane->rgb->data, lane->rgb->linesize);
  if (rows < 0) throw Error("a frame can't be converted to RGB: " + reason_of(rows));
  Picture picture = Picture::unset(3, frame.height, frame.width);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    std::memcpy(picture.row(y), lane->rgb->data[0] + y * lane->rgb->linesize[0],
                static_cast<std::size_t>(3 * picture.width));
  }
  const std::scoped_lock lock(mutex_);
  free_.push_back(std::move(lane));
  return picture;
}

FromRgb::FromRgb(int width, int height, AVPixelFormat format) {
  const Layout layout{width, height, AV_PIX_FMT_RGB24, SWS_CS_DEFAULT, false};
  scaler_ = scaler_for(layout, format);
  padded_ = frame_with_room(width, height, AV_PIX_FMT_RGB24);
}

void FromRgb::convert(const Picture& picture, AVFrame& frame) {
  for (int y = 0; y < padded_->height; ++y) {
    const std::uint8_t* const from = picture.row(std::min<std::int64_t>(y, picture.height - 1));
    std::uint8_t* to = padded_->data[0] + std::ptrdiff_t{y} * padded_->linesize[0];
    for (std::int64_t x = 0; x < padded_->width; ++x) {
      const std::int64_t column = std::min(x, picture.width - 1);
      for (std::int64_t c = 0; c < 3; ++c) *to++ = from[column * picture.channels + (picture.channels == 3 ? c : 0)];
    }
  }
  const int rows =
      sws_scale(scaler_.get(), padded_->data, padded_->linesize, 0, padded_->height, frame.data, frame.linesize);
  if (rows < 0) throw Error("a frame can't be converted from RGB: " + reason_of(rows));
}

}  // namespace evener::data::video_module
