#include "data/video/ffmpeg_module/writer.h"

#include <fcntl.h>
#include <unistd.h>

extern "C" {
#include <libavutil/display.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/names.h"

namespace evener::data::video_module {
namespace {

constexpr int kBufferBytes = 1 << 16;
/// Ticks a second: the usual rates are whole numbers of them, and MPEG-4 takes no more than 65535.
constexpr int kTicks = 60000;
constexpr const char* kQuality = "20";  // of H.264, as its CRF: hardly to be told from the original
constexpr int kScale = 3;               // of MPEG-4, from 1 (best) to 31

const AVCodec& encoder_of(const std::string& name) {
  if (!name.empty()) {
    const AVCodec* const wanted = avcodec_find_encoder_by_name(name.c_str());
    if (wanted == nullptr) throw Error("FFmpeg was built without the encoder '" + name + "'");
    return *wanted;
  }
  for (const char* const known : {"libx264", "mpeg4"}) {
    if (const AVCodec* const codec = avcodec_find_encoder_by_name(known)) return *codec;
  }
  throw Error("FFmpeg was built without an encoder for H.264 or MPEG-4");
}

AVPixelFormat pixels_of(const AVCodec& codec, const std::string& wanted) {
  if (!wanted.empty()) {
    const AVPixelFormat format = av_get_pix_fmt(wanted.c_str());
    if (format == AV_PIX_FMT_NONE) throw Error("FFmpeg knows no pixels '" + wanted + "'");
    return format;
  }
  const std::string name = codec.name;
  return name == "mjpeg" ? AV_PIX_FMT_YUVJ420P : name == "ffv1" ? AV_PIX_FMT_BGR0 : AV_PIX_FMT_YUV420P;
}

/// Codecs that halve colours take even sizes.
int even_size(std::int64_t extent) {
  return static_cast<int>(extent + extent % 2);
}

void turn(AVStream& stream, int quarters) {
  if (quarters == 0) return;
  constexpr std::size_t kBytes = 9 * sizeof(std::int32_t);
  std::int32_t matrix[9];
  av_display_rotation_set(matrix, 90.0 * quarters);
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)
  AVPacketSideData* const data = av_packet_side_data_new(
      &stream.codecpar->coded_side_data, &stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX, kBytes, 0);
  if (data == nullptr) throw std::bad_alloc();
  std::memcpy(data->data, matrix, kBytes);
#else
  std::uint8_t* const data = av_stream_new_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, kBytes);
  if (data == nullptr) throw std::bad_alloc();
  std::memcpy(data, matrix, kBytes);
#endif
}

#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WriteBytes = int (*)(void*, const std::uint8_t*, int);
#else
using WriteBytes = int (*)(void*, std::uint8_t*, int);
#endif

}  // namespace

FileWriter::FileWriter(std::filesystem::path path, const VideoFormat& format)
    : path_(std::move(path)), temporary_(path_.string() + ".tmp-" + std::to_string(::getpid())) {
  AVFormatContext* output = nullptr;
  if (avformat_alloc_output_context2(&output, nullptr, nullptr, path_.c_str()) < 0 || output == nullptr) {
    throw Error("no video can be written into a file called '" + path_.string() + "': give it an ending such as .mp4");
  }
  output_.reset(output);
  open_codec(format);
  open_file(format);
}

FileWriter::~FileWriter() {
  if (finished_) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void FileWriter::require(int code, const char* what) const {
  if (write_error_ != 0) {
    throw Error("can't write '" + path_.string() + "': " + file_error_text(write_error_, path_));
  }
  if (code == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (code < 0) {
    const std::string why = last_message();
    throw Error("can't write '" + path_.string() + "': " + what + ": " + (why.empty() ? reason_of(code) : why));
  }
}

void FileWriter::open_codec(const VideoFormat& format) {
  const AVCodec& encoder = encoder_of(format.codec);
  codec_.reset(avcodec_alloc_context3(&encoder));
  if (!codec_) throw std::bad_alloc();
  codec_->width = even_size(format.width);
  codec_->height = even_size(format.height);
  codec_->pix_fmt = pixels_of(encoder, format.pixels);
  codec_->time_base = {1, kTicks};
  codec_->framerate = av_d2q(format.rate, kTicks);
  codec_->flags |= AV_CODEC_FLAG_QSCALE;
  codec_->global_quality = FF_QP2LAMBDA * kScale;
  codec_->colorspace = AVCOL_SPC_SMPTE170M;
  codec_->color_range = codec_->pix_fmt == AV_PIX_FMT_YUVJ420P ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  if (format.key_interval > 0) codec_->gop_size = format.key_interval;
  if (format.frames_between >= 0) codec_->max_b_frames = format.frames_between;
  if ((output_->oformat->flags & AVFMT_GLOBALHEADER) != 0) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  if (codec() == "libx264") {
    av_opt_set(codec_->priv_data, "crf", kQuality, 0);
    av_opt_set(codec_->priv_data, "preset", "fast", 0);
  }
  forget_message();
  require(avcodec_open2(codec_.get(), &encoder, nullptr), "its encoder can't be opened");
  const AVPixelFormat pixels = codec_->pix_fmt == AV_PIX_FMT_YUVJ420P ? AV_PIX_FMT_YUVJ420P : codec_->pix_fmt;
  from_rgb_.emplace(codec_->width, codec_->height, pixels);
}

int FileWriter::write_bytes(void* self, const std::uint8_t* bytes, int count) {
  auto& writer = *static_cast<FileWriter*>(self);
  for (int done = 0; done < count;) {
    const ssize_t written = ::write(writer.file_.get(), bytes + done, static_cast<std::size_t>(count - done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      writer.write_error_ = errno;
      return AVERROR(errno);
    }
    done += static_cast<int>(written);
  }
  return count;
}

std::int64_t FileWriter::seek_to(void* self, std::int64_t offset, int whence) {
  if ((whence & AVSEEK_SIZE) != 0) return AVERROR(ENOSYS);
  const off_t place = ::lseek(static_cast<FileWriter*>(self)->file_.get(), offset, whence & ~AVSEEK_FORCE);
  return place < 0 ? AVERROR(errno) : static_cast<std::int64_t>(place);
}

void FileWriter::open_file(const VideoFormat& format) {
  file_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file_.valid()) throw Error("can't write '" + path_.string() + "': " + file_error_text(errno, path_));
  try {
    auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
    if (buffer == nullptr) throw std::bad_alloc();
    io_.reset(
        avio_alloc_context(buffer, kBufferBytes, 1, this, nullptr, reinterpret_cast<WriteBytes>(write_bytes), seek_to));
    if (!io_) throw std::bad_alloc();
    output_->pb = io_.get();
    output_->flags |= AVFMT_FLAG_CUSTOM_IO;
    stream_ = avformat_new_stream(output_.get(), nullptr);
    if (stream_ == nullptr) throw std::bad_alloc();
    require(avcodec_parameters_from_context(stream_->codecpar, codec_.get()), "its stream");
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    turn(*stream_, format.quarters);
    require(avformat_write_header(output_.get(), nullptr), "its header");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);  // the destructor of what isn't whole isn't called
    throw;
  }
}

void FileWriter::write_packets() {
  for (;;) {
    const int code = avcodec_receive_packet(codec_.get(), packet_.get());
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
    require(code, "a frame can't be encoded");
    av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
    packet_->stream_index = stream_->index;
    require(av_interleaved_write_frame(output_.get(), packet_.get()), "a frame");
  }
}

void FileWriter::add(const Picture& picture, double time_s) {
  forget_message();  // of decoders
  Frame frame = new_frame();
  frame->width = codec_->width;
  frame->height = codec_->height;
  frame->format = codec_->pix_fmt;
  if (av_frame_get_buffer(frame.get(), 0) < 0) throw std::bad_alloc();
  from_rgb_->convert(picture, *frame);
  last_ = std::max<std::int64_t>(last_ + 1, std::llround(time_s * kTicks));
  frame->pts = last_;
  frame->quality = codec_->global_quality;
  require(avcodec_send_frame(codec_.get(), frame.get()), "a frame can't be encoded");
  write_packets();
}

void FileWriter::finish() {
  forget_message();
  require(avcodec_send_frame(codec_.get(), nullptr), "its end can't be encoded");
  write_packets();
  require(av_write_trailer(output_.get()), "its end");
  avio_flush(io_.get());
  require(io_->error, "its end");
  if (::fsync(file_.get()) != 0) write_error_ = errno;
  require(0, "");
  if (const int error = file_.close(); error != 0) write_error_ = error;
  require(0, "");
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) throw Error("can't write '" + path_.string() + "': " + error.message());
  finished_ = true;
}

}  // namespace evener::data::video_module
