// FFmpeg's objects with owners, and its errors as ours.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <memory>
#include <string>

namespace evener::data::video_module {

struct FreeFrame {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
struct FreePacket {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
struct FreeCodec {
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
};
struct CloseInput {
  void operator()(AVFormatContext* format) const { avformat_close_input(&format); }
};
struct FreeOutput {
  void operator()(AVFormatContext* format) const { avformat_free_context(format); }
};
struct FreeScaler {
  void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};
struct FreeOptions {
  void operator()(AVDictionary* options) const { av_dict_free(&options); }
};
/// Frees the buffer as well, which libavformat may have replaced.
struct FreeIo {
  void operator()(AVIOContext* io) const {
    av_freep(&io->buffer);
    avio_context_free(&io);
  }
};
using Frame = std::unique_ptr<AVFrame, FreeFrame>;
using Packet = std::unique_ptr<AVPacket, FreePacket>;
using Codec = std::unique_ptr<AVCodecContext, FreeCodec>;
using Input = std::unique_ptr<AVFormatContext, CloseInput>;
using Output = std::unique_ptr<AVFormatContext, FreeOutput>;
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;
using Io = std::unique_ptr<AVIOContext, FreeIo>;

Frame new_frame();
Packet new_packet();

/// What FFmpeg says of one of its error codes.
std::string reason_of(int code);
/// FFmpeg's last message at the level of an error, on any thread since forget_message(); "" for none.
/// Its messages are never printed.
std::string last_message();
void forget_message();
/// Makes FFmpeg's messages go where last_message() finds them.
void catch_messages();

}  // namespace evener::data::video_module
