//! A chunked body on its way to a server: passed on as chunks of our own, ended where it ends.

use std::io::{self, ErrorKind};

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
};

/// Longest line between chunks: a size, or a trailer.
const MOST_LINE: u64 = 4 << 10;

/// Trailer lines that are dropped.
const MOST_TRAILERS: usize = 64;

/// Most bytes that are held of one chunk.
const PIECE: u64 = 16 << 10;

/// Passes one chunked body on. Extensions and trailers are left out.
pub(super) async fn pass(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    loop {
        let mut left = size(&line(from).await?)?;
        if left == 0 {
            break;
        }
        while left > 0 {
            let mut piece = Vec::new();
            (&mut *from).take(left.min(PIECE)).read_to_end(&mut piece).await?;
            if piece.is_empty() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            left -= piece.len() as u64;
            to.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
            to.write_all(&piece).await?;
            to.write_all(b"\r\n").await?;
        }
        if !line(from).await?.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    for _ in 0..MOST_TRAILERS {
        if line(from).await?.is_empty() {
            to.write_all(b"0\r\n\r\n").await?;
            return to.flush().await;
        }
    }
    Err(ErrorKind::InvalidData.into())
}

/// One line without its end, which has to be CR LF.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(MOST_LINE).read_until(b'\n', &mut line).await?;
    let Some(line) = line.strip_suffix(b"\r\n") else { return Err(ErrorKind::InvalidData.into()) };
    if line.contains(&b'\r') {
        return Err(ErrorKind::InvalidData.into());
    }
    Ok(line.to_vec())
}

/// The size of a chunk: hexadecimal digits, perhaps an extension behind them.
fn size(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default();
    let digits = digits.trim_ascii_end();
    let good = !digits.is_empty() && digits.len() <= 15 && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| good);
    text.and_then(|text| u64::from_str_radix(text, 16).ok())
        .ok_or_else(|| ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(body: &[u8]) -> io::Result<(Vec<u8>, usize)> {
        let (mut rest, mut out) = (body, Vec::new());
        pass(&mut rest, &mut out).await?;
        Ok((out, rest.len()))
    }

    #[tokio::test]
    async fn a_body_ends_where_it_ends_and_nothing_behind_it_is_passed_on() {
        let body =
            b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: x\r\n\r\nGET /secret HTTP/1.1\r\n";
        let (out, left) = passed(body).await.unwrap();
        assert_eq!(out, b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
        assert_eq!(left, b"GET /secret HTTP/1.1\r\n".len());
    }

    #[tokio::test]
    async fn sizes_that_can_be_read_in_two_ways_are_refused() {
        for body in [
            &b"5\nhello\r\n0\r\n\r\n"[..],
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b"+5\r\nhello\r\n0\r\n\r\n",
            b" 5\r\nhello\r\n0\r\n\r\n",
            b"\r\n\r\n",
            b"5\r\nhello0\r\n\r\n",
            b"5\r\nhelloX\r\n0\r\n\r\n",
            b"5\r\nhel",
            b"fffffffffffffffff\r\n",
            b"5;\rx\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhello\r\n",
        ] {
            assert!(passed(body).await.is_err(), "{body:?}");
        }
    }
}
