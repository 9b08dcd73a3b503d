//! Whether a form was sent by one of the console's own pages.

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Uri};

/// Returns whether the browser says that the request comes from a page of the same origin. A request that says nothing is
/// from elsewhere. `own` is the origin at which browsers see the console, if it is not that of the header `Host`.
pub(crate) fn is_own(request: &Parts, own: Option<&str>) -> bool {
    let site = text(&request.headers, "sec-fetch-site");
    let origin = text(&request.headers, ORIGIN.as_str());
    if site.is_none() && origin.is_none() {
        return false;
    }
    let is_same_site = site.is_none_or(|site| site == "same-origin");
    is_same_site && origin.is_none_or(|origin| is_at(origin, request, own))
}

fn is_at(origin: &str, request: &Parts, own: Option<&str>) -> bool {
    if let Some(own) = own {
        return origin.eq_ignore_ascii_case(own);
    }
    let host = text(&request.headers, HOST.as_str())
        .or_else(|| request.uri.authority().map(Authority::as_str));
    let Ok(origin) = origin.parse::<Uri>() else {
        return false;
    };
    match (origin.scheme(), origin.authority(), host) {
        (Some(_), Some(origin), Some(host)) => origin.as_str().eq_ignore_ascii_case(host),
        _ => false,
    }
}

/// Returns a header that was sent once; of one sent twice, a text that is nothing's origin.
fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    match values.next() {
        None => Some(first.to_str().unwrap_or("null")),
        Some(_) => Some("null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::new(());
        for (name, value) in headers {
            let name = name.parse::<http::HeaderName>().expect("a name");
            request
                .headers_mut()
                .append(name, value.parse().expect("a value"));
        }
        request.into_parts().0
    }

    #[test]
    fn a_form_of_another_origin_or_of_none_is_not_ours() {
        let host = ("host", "ops.example:8017");
        for (headers, is_ours) in [
            (vec![host], false),
            (vec![host, ("origin", "http://ops.example:8017")], true),
            (vec![host, ("origin", "http://OPS.example:8017")], true),
            (vec![host, ("origin", "http://ops.example")], false),
            (vec![host, ("origin", "null")], false),
            (vec![host, ("origin", "http://evil.example")], false),
            (vec![("origin", "http://ops.example:8017")], false),
            (vec![host, ("sec-fetch-site", "same-origin")], true),
            (vec![host, ("sec-fetch-site", "same-site")], false),
            (vec![host, ("sec-fetch-site", "cross-site")], false),
            (vec![host, ("sec-fetch-site", "none")], false),
            (
                vec![
                    host,
                    ("sec-fetch-site", "cross-site"),
                    ("origin", "http://ops.example:8017"),
                ],
                false,
            ),
            (
                vec![
                    host,
                    ("origin", "http://ops.example:8017"),
                    ("origin", "http://evil.example"),
                ],
                false,
            ),
        ] {
            assert_eq!(is_own(&parts(&headers), None), is_ours, "{headers:?}");
        }
        let proxied = [("host", "10.0.0.7"), ("origin", "https://ops.example")];
        assert!(is_own(&parts(&proxied), Some("https://ops.example")));
        assert!(!is_own(&parts(&proxied), Some("https://ops.example:8443")));
    }
}
