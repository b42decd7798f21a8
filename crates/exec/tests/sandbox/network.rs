//! Network: own loopback, nothing of the host's.

use std::io::{ErrorKind, Read as _};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use crate::lab::both;

/// Whether something has connected, without waiting.
fn was_reached(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    match listener.accept() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

both! {
    /// No port of the host's loopback, by any protocol.
    fn ports_of_the_host_are_out_of_reach(lab) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        for attempt in ["tcp", "mptcp"] {
            let answer = lab.attempt(&[attempt, &port]);
            assert!(answer.starts_with("refused"), "{attempt}: {answer}");
            assert!(!was_reached(&listener), "{attempt}");
        }
        assert_eq!(lab.control(&["tcp", &port]), "done");
        assert!(was_reached(&listener), "the control");

        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = receiver.local_addr().unwrap().port().to_string();
        receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        lab.attempt(&["udp", &port]);
        assert!(receiver.recv(&mut [0; 16]).is_err(), "a datagram came out");
        receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        lab.control(&["udp", &port]);
        assert_eq!(receiver.recv(&mut [0; 16]).unwrap(), 7, "the control");
    }

    /// There is no route to anywhere: private ranges, link-local, metadata, the world.
    fn there_is_no_way_out(lab) {
        for address in ["10.0.0.1:80", "169.254.169.254:80", "192.168.0.1:53", "1.1.1.1:443",
            "[fe80::1]:80", "[2606:4700::1111]:443"] {
            let answer = lab.attempt(&["reach", address]);
            let unreachable = [libc::ENETUNREACH, libc::EADDRNOTAVAIL, libc::EINVAL];
            assert!(unreachable.iter().any(|n| answer == format!("refused {n}")), "{address} {answer}");
        }
        let interfaces = lab.shell("cat /proc/self/net/dev | tail -n +3 | cut -d: -f1");
        assert_eq!(interfaces.good().trim(), "lo");
    }

    /// Sockets with a name: abstract ones, and those in directories that stay visible.
    fn named_sockets_of_the_host_are_out_of_reach(lab) {
        let name = format!("box-lab-{}-{}", std::process::id(), lab.is_root());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        lab.refused(&["abstract", &name]);
        drop(listener);
        for place in ["outside/service.sock", "workspace/service.sock", "home/service.sock"] {
            let listener = UnixListener::bind(lab.path(place)).unwrap();
            lab.give_away();
            lab.refused(&["unix", &lab.at(place)]);
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert_eq!(text, "escaped", "only the control came");
            std::fs::remove_file(lab.path(place)).unwrap();
        }
    }

    /// Families that no network namespace holds cannot be made at all.
    fn only_four_families_of_sockets(lab) {
        for family in [libc::AF_VSOCK, libc::AF_PACKET, libc::AF_ALG, libc::AF_BLUETOOTH,
            libc::AF_TIPC, libc::AF_XDP, libc::AF_CAN] {
            let answer = lab.attempt(&["family", &family.to_string()]);
            assert_eq!(answer, format!("refused {}", libc::EAFNOSUPPORT), "{family}");
        }
        for family in [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK] {
            assert_eq!(lab.attempt(&["family", &family.to_string()]), "done", "{family}");
        }
    }

    /// A server and its client within one call, over both protocols.
    fn loopback_works(lab) {
        assert_eq!(lab.attempt(&["loopback"]), "done");
    }

    /// The proxy's listener is the one way out, and only where the profile has it.
    fn the_proxy_is_the_only_door(lab) {
        let text = "exec 3<>/dev/tcp/127.0.0.1/${https_proxy##*:} && cat <&3";
        let outcome = lab.run(&["--proxied"], &["/bin/bash", "-c", text]);
        assert_eq!(outcome.good(), "from the server");
        let names = "env | grep -ic _proxy; exit 0";
        assert_eq!(lab.run(&["--proxied"], &["/bin/bash", "-c", names]).good(), "8");
        assert_eq!(lab.shell(names).good(), "0");
        let address = lab.run(&["--proxied"], &["/bin/bash", "-c", "echo $HTTP_PROXY"]);
        let port = address.good().rsplit(':').next().unwrap().to_owned();
        assert!(lab.control(&["tcp", &port]).starts_with("refused"), "it is not on the host");
    }

    /// A later box joins the network of a running one, and nothing else of it.
    fn a_later_box_reaches_the_ports_of_a_job(lab) {
        let job = "import http.server as h; h.HTTPServer(('127.0.0.1', 8765), \
            h.SimpleHTTPRequestHandler).handle_request()";
        let client = "for i in $(seq 400); do exec 3<>/dev/tcp/127.0.0.1/8765 && break; sleep 0.05; \
            done 2>/dev/null; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3; ls -d /proc/[0-9]* | wc -l";
        let client = format!("/bin/bash -c \"{}\"", client.replace('"', "\\\"").replace('$', "\\$"));
        let outcome = lab.run(&["--then", &client], &["/usr/bin/python3", "-c", job]);
        assert!(outcome.report.contains("second ended 0"), "{outcome:?}");
        let mut lines = outcome.stdout.lines();
        assert!(lines.next().unwrap().contains("200 OK"), "{outcome:?}");
        assert!(lines.next().unwrap().parse::<u32>().unwrap() <= 6, "{outcome:?}");
    }
}
